"""What every re-ranker keeps to."""

from __future__ import annotations

import pytest

from shrag.indexing.lexical_reranker import LexicalReranker
from shrag.models.reranker import Passage, Reranker
from shrag.serving.engine import Engine

RERANKERS = ["lexical"]


@pytest.fixture(params=RERANKERS)
def reranker(request: pytest.FixtureRequest, demo: Engine) -> Reranker:
    """Return each re-ranker."""
    index = demo.open_index
    return {"lexical": lambda: LexicalReranker(index.analyzer, index.engine, index.manifest.bm25)}[request.param]()


def _passage(demo: Engine, title: str, text: str) -> Passage:
    return Passage(title, text, demo.open_index.analyzer.terms([title])[0], demo.open_index.analyzer.terms([text]))


def test_the_passage_about_the_question_scores_higher(reranker: Reranker, demo: Engine) -> None:
    about = _passage(demo, "그래핀 에어로겔", "그래핀 에어로겔의 전자파 차폐 효율을 측정하였다.")
    other = _passage(demo, "사과 과원", "사과 과원의 토양 수분을 측정하였다.")
    first, second = reranker.score("그래핀의 전자파 차폐 효율은?", [about, other])
    assert first > second


def test_scores_stand_in_the_order_of_the_passages_and_do_not_depend_on_it(reranker: Reranker, demo: Engine) -> None:
    passages = [_passage(demo, f"그래핀 {n}", "그래핀 필름. " * n) for n in range(4)]
    scores = reranker.score("그래핀 필름", passages)
    assert reranker.score("그래핀 필름", passages[::-1]) == scores[::-1]


def test_no_passages_have_no_scores(reranker: Reranker) -> None:
    assert reranker.score("그래핀", []) == []
    assert reranker.name


def test_nothing_in_common_is_still_a_score(reranker: Reranker, demo: Engine) -> None:
    (score,) = reranker.score("?", [_passage(demo, "", "")])
    assert score == 0
