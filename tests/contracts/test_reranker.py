"""Contract of re-rankers."""

from __future__ import annotations

import math

import pytest

from shrag.indexing.analyzed_record import to_passage
from shrag.indexing.lexical.reranker import LexicalReranker
from shrag.indexing.vectors.hybrid_reranker import add_vectors
from shrag.indexing.vectors.vector_index import VectorReranker
from shrag.models.reranker import Passage, Reranker
from shrag.serving.engine import Engine

pytestmark = pytest.mark.slow

RERANKERS = ["lexical", "vectors", "hybrid", "cross-encoder"]


@pytest.fixture(params=RERANKERS)
def reranker(request: pytest.FixtureRequest, demo: Engine) -> Reranker:
    """Return each re-ranker."""
    index = demo.open_index
    if request.param == "cross-encoder":
        made: Reranker = request.getfixturevalue("cross_encoder")
        return made
    assert index.dense is not None
    vectors = VectorReranker(index.dense)
    words = LexicalReranker(index.analyzer, index.searcher, index.manifest.bm25)
    by_name: dict[str, Reranker] = {"vectors": vectors, "lexical": words, "hybrid": add_vectors(words, vectors)}
    return by_name[request.param]


def _passages(demo: Engine, *docids: str) -> list[Passage]:
    return [to_passage(found) for found in demo.open_index.store.fetch(docids) if found]


def test_the_passage_about_the_question_scores_higher(reranker: Reranker, demo: Engine) -> None:
    if reranker.name == "tiny-reranker":
        pytest.skip("random weights know nothing of onions or of milk")
    first, second = reranker.score(
        "혹서기 젖소의 생산성은 왜 저하되는가?", _passages(demo, "DEMO-AGR-008", "DEMO-SOC-012")
    )
    assert first > second


def test_scores_stand_in_the_order_of_the_passages_and_do_not_depend_on_it(reranker: Reranker, demo: Engine) -> None:
    passages = _passages(demo, "DEMO-AGR-008", "DEMO-SOC-012", "DEMO-ENV-003", "DEMO-BIO-005")
    scores = reranker.score("heat stress of dairy cows", passages)
    assert len(set(scores)) > 1
    assert reranker.score("heat stress of dairy cows", passages[::-1]) == pytest.approx(scores[::-1], abs=1e-6)


def test_no_passages_have_no_scores(reranker: Reranker) -> None:
    assert reranker.score("그래핀", []) == []
    assert reranker.name


def test_nothing_in_common_is_still_a_score(reranker: Reranker) -> None:
    (score,) = reranker.score("?", [Passage("", "", [], [])])
    assert math.isfinite(score)
    assert score == 0 or reranker.is_model
