"""Choosing a re-ranker; the rankings it gives."""

from __future__ import annotations

import logging
import math
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from starlette.testclient import TestClient

import shrag
from shrag.cli.main import run
from shrag.indexing.errors import EncoderUnavailable
from shrag.indexing.lexical.reranker import LexicalReranker
from shrag.indexing.vectors.hybrid_reranker import HybridReranker, add_vectors
from shrag.indexing.vectors.vector_index import VectorIndex, VectorReranker
from shrag.models.errors import WeightsMissing
from shrag.models.reranker import Passage
from shrag.serving.app import create_app
from shrag.serving.engine import Engine, open_engine
from shrag.serving.errors import StrategyUnavailable, UnknownReranker
from shrag.serving.retrieval.rerankers import check_reranker, model_of_reranker, open_reranker

QUESTION = "How much does milk yield fall in dairy cows under heat stress?"


def test_by_vectors_the_candidates_are_ranked_by_the_stored_cosines(demo_home: Path, demo: Engine) -> None:
    engine = open_engine(demo_home / "indexes", "demo", reranker="vectors")
    found = engine.search(QUESTION, k=235)
    plain = demo.search(QUESTION, k=235)
    assert found.hits == plain.hits  # the same candidates
    assert found.ranking.reranker == "LSA cosine"
    assert not found.ranking.reranker_is_model
    dense = demo.open_index.dense
    assert dense is not None
    docids = [ranked.record.docid for ranked in found.ranking.records]
    assert [ranked.score for ranked in found.ranking.records] == dense.cosines(dense.encode(QUESTION), docids)
    assert sorted(docids) == sorted(ranked.record.docid for ranked in plain.ranking.records)
    engine.close()


@pytest.mark.slow
def test_by_a_cross_encoder_every_pair_is_scored_and_low_ones_are_left_out(demo: Engine, reranker_folder: Path) -> None:
    index, weights = demo.open_index, reranker_folder.parent
    engine = Engine(index, reranker=open_reranker(str(reranker_folder), index, weights))
    ranking = engine.search(QUESTION, every_record=True).ranking
    assert (ranking.reranker, ranking.reranker_is_model) == ("tiny-reranker", True)
    scores = [ranked.score for ranked in ranking.records]
    assert all(0 < score < 1 for score in scores)
    assert scores == sorted(scores, reverse=True)
    strict = Engine(index, reranker=open_reranker(str(reranker_folder), index, weights, (scores[2] + scores[3]) / 2))
    best = strict.search(QUESTION, every_record=True).ranking.records
    assert [ranked.score for ranked in best] == pytest.approx(scores[:3])


def test_left_alone_it_is_words_and_the_vectors_of_a_model_where_there_are_such(
    demo: Engine, demo_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[VectorIndex] = []

    def prepare(dense: VectorIndex) -> None:
        prepared.append(dense)

    monkeypatch.setattr(VectorIndex, "prepare_means", prepare)
    index, weights = demo.open_index, demo_home / "weights"
    card = index.manifest.vectors
    assert card is not None
    learnt = replace(
        index, manifest=msgspec.structs.replace(index.manifest, vectors=msgspec.structs.replace(card, encoder="gte"))
    )
    chosen = open_reranker("auto", learnt, weights)
    assert isinstance(chosen, HybridReranker)
    assert isinstance(chosen.words, LexicalReranker)
    assert prepared == [learnt.dense]  # before the first question
    assert isinstance(open_reranker("auto", index, weights), LexicalReranker)  # counted vectors rank worse than words
    assert isinstance(open_reranker("auto", replace(learnt, dense=None), weights), LexicalReranker)


def test_vectors_whose_encoder_is_missing_are_logged_and_said_by_health_and_metrics(
    demo: Engine, demo_home: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(_: VectorIndex) -> None:
        raise EncoderUnavailable("There are no weights at /weights/gte.")

    index = demo.open_index
    monkeypatch.setattr(VectorIndex, "prepare", missing)
    card = index.manifest.vectors
    assert card is not None
    manifest = msgspec.structs.replace(index.manifest, vectors=msgspec.structs.replace(card, encoder="gte"))
    learnt = replace(index, manifest=manifest)
    engine = Engine(learnt, reranker=open_reranker("auto", learnt, demo_home / "weights"))
    said = ["Index demo is ranked by words alone. There are no weights at /weights/gte."]
    assert _warnings(caplog) == said
    assert engine.search(QUESTION).ranking == demo.search(QUESTION).ranking
    client = TestClient(create_app(engine), base_url="http://127.0.0.1")
    (health,) = client.get("/health/ready").json()["indexes"]
    assert health["reranker_problem"] == "There are no weights at /weights/gte."
    assert 'shrag_index_words_alone{name="demo"} 1.0' in client.get("/metrics").text
    assert (demo.reranker_problem, _warnings(caplog)) == ("", said)


def _warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


def test_a_pipeline_ranks_and_filters_by_the_cosines_alone(demo: Engine) -> None:
    dense = demo.open_index.dense
    assert dense is not None
    vectors = VectorReranker(dense)
    both = Engine(demo.open_index, reranker=add_vectors(demo.resources.reranker, vectors, 1.0))
    alone = Engine(demo.open_index, reranker=vectors)
    for stages in ("retrieve(20) > rerank(5)", "retrieve(20) > rerank(9) > filter(0.3)"):
        found, expected = (engine.search(QUESTION, strategy=stages).ranking for engine in (both, alone))
        assert found == expected
        assert "LSA cosine" in found.reranker
    assert both.search(QUESTION).ranking.reranker == "BM25 + best sentence + 1 × LSA cosine"


class Nothing:
    name, is_model = "nothing", True

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        return [-math.inf for _ in passages]


def test_where_nothing_scores_enough_the_answer_says_that_nothing_fits(demo: Engine) -> None:
    asked = Engine(demo.open_index, reranker=Nothing()).ask(QUESTION)
    assert asked.search.hits.candidates
    assert (asked.search.ranking.records, asked.search.ranking.reason) == ((), "nothing_fits")
    assert (asked.answer.citations, asked.answer.reason) == ((), "nothing_fits")


def test_the_default_is_by_words(demo_home: Path, demo: Engine) -> None:
    assert isinstance(open_reranker("lexical", demo.open_index, demo_home / "weights"), LexicalReranker)
    assert demo.search(QUESTION).ranking.reranker == "BM25 + best sentence"


def test_an_index_without_vectors_says_what_to_do(demo_home: Path, demo: Engine) -> None:
    with pytest.raises(StrategyUnavailable, match=r"Index demo has no vectors.*`shrag index demo --encoder gte`"):
        open_reranker("vectors", replace(demo.open_index, dense=None), demo_home / "weights")


def test_a_choice_there_is_not_is_refused_before_anything_is_opened(tmp_path: Path) -> None:
    with pytest.raises(
        UnknownReranker, match="There is no re-ranker 'best': use one of auto, lexical, vectors, encoder, "
    ):
        open_engine(tmp_path / "no-such-home", "demo", reranker="best")
    for choice in ("lexical", "vectors", "encoder:gte"):
        with pytest.raises(UnknownReranker, match=f"re-ranker {choice} have no fixed scale.* minimum score of 0.5"):
            check_reranker(choice, 0.5)
    with pytest.raises(UnknownReranker, match=r"from 0 to 1, got 2"):
        check_reranker("gte-reranker", 2)
    for choice in ("lexical", "vectors", "cross-encoder", "gte-reranker", "bge-reranker-large", "./folder"):
        check_reranker(choice)


def test_the_re_ranker_encoder_takes_the_only_encoder_with_weights(
    demo: Engine, encoder_folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(UnknownReranker, match=f"under {tmp_path}, and there is none: name one, as `encoder:gte`"):
        open_reranker("encoder", demo.open_index, tmp_path)
    folder = Path(shutil.copytree(encoder_folder, tmp_path / "tiny-encoder"))
    assert model_of_reranker("encoder", tmp_path) == str(folder)
    passages = [Passage("", "그래핀", [], []), Passage("", "apple", [], [])]
    found = open_reranker("encoder", demo.open_index, tmp_path).score("그래핀", passages)
    assert found[0] == pytest.approx(1.0, abs=1e-5)
    assert (
        open_reranker(f"encoder:{folder}", demo.open_index, tmp_path / "elsewhere").score("그래핀", passages) == found
    )
    (tmp_path / "bge-m3").mkdir()
    with pytest.raises(UnknownReranker, match=rf"there are several \(bge-m3, {folder}\): name one"):
        open_reranker("encoder", demo.open_index, tmp_path)


@pytest.mark.parametrize(
    ("choice", "model"),
    [
        ("auto", ""),
        ("lexical", ""),
        ("vectors", ""),
        ("encoder:gte:256", "gte:256"),
        ("cross-encoder", "gte-multilingual-reranker-base"),
        ("bge-reranker-large", "bge-reranker-large"),
        ("./folder", "./folder"),
    ],
)
def test_a_choice_tells_which_model_it_loads(choice: str, model: str, tmp_path: Path) -> None:
    assert model_of_reranker(choice, tmp_path) == model


def test_weights_are_looked_for_in_the_home_by_the_default_name(demo_home: Path, demo: Engine) -> None:
    weights = demo_home / "weights"
    with pytest.raises(WeightsMissing, match=f"no weights at {weights}/gte-multilingual-reranker-base"):
        open_reranker("cross-encoder", demo.open_index, weights)


def test_the_commands_and_the_python_door_take_the_choice(
    demo_home: Path, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(demo_home, own_home)
    assert run(["search", "demo", QUESTION, "--reranker", "vectors", "-k", "1"]) == 0
    by_command = capsys.readouterr().out
    engine = shrag.open("demo", own_home, reranker="vectors")
    (best,) = engine.search(QUESTION, k=1).ranking.records
    assert f"{best.score:7.3f}  {best.record.docid}" in by_command
    engine.close()
    assert run(["search", "demo", QUESTION, "--reranker", "best"]) == 2
    assert run(["ask", "demo", QUESTION, "--min-score", "0.5"]) == 2
    assert run(["search", "demo", QUESTION, "--reranker", "cross-encoder"]) == 6
    assert "SHRAG downloads nothing" in capsys.readouterr().err
