from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from shrag.corpora.records import Record
from shrag.indexing.analyzed_record import AnalyzedRecord, to_passage
from shrag.models.reranker import Passage
from shrag.serving.engine import Engine
from shrag.serving.strategies.stepwise.similarity_threshold import (
    QUANTILE,
    SAMPLE,
    ShareOfBest,
    learn_threshold,
    learnt_threshold,
    model_vectors,
    open_similarity,
)


class _ByNumber:
    """A similarity of two numbers: ten minus what is between them, over ten."""

    name = "numbers"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def of(self, text: str, passages: Sequence[Passage]) -> list[float]:
        self.asked.append(text)
        number = int(text.split()[1].rstrip("."))
        return [1 - abs(number - int(passage.text.split()[1].rstrip("."))) / 10 for passage in passages]


def _record(docid: str, text: str) -> AnalyzedRecord:
    return AnalyzedRecord(Record(docid=docid, title="", text=text, language="en", complete=True), "", ())


def _records(*numbers: int) -> list[AnalyzedRecord]:
    return [_record(str(number), f"Number {number}. It is one. It is not looked at.") for number in numbers]


def test_the_threshold_is_the_quantile_over_all_pairs_of_different_records() -> None:
    similarity = _ByNumber()
    sample = _records(0, 1, 5)  # 0.9, 0.5 and 0.6, twice each
    assert learn_threshold(sample, similarity, 0.0) == pytest.approx(0.5)
    assert learn_threshold(sample, similarity, 1.0) == pytest.approx(0.9)
    assert learn_threshold(sample, similarity, 0.5) == pytest.approx(0.6)
    assert learn_threshold(sample, similarity, 0.7) == pytest.approx(0.75)  # halfway between two pairs
    assert similarity.asked[0] == "Number 0. It is one."


def test_without_a_pair_nothing_is_dropped() -> None:
    empty = _record("e", "")
    for sample in ([], _records(3), [empty], [empty, empty]):
        assert learn_threshold(sample, _ByNumber()) == float("-inf")


def test_a_threshold_is_learnt_once_for_concurrent_callers(demo: Engine) -> None:
    index = demo.open_index
    similarity = open_similarity(index, demo.resources.reranker)
    assert similarity.name == "BM25 + best sentence, share of the text's own"
    assert (SAMPLE, QUANTILE) == (64, 0.998)
    counted = _Counted("counted", ShareOfBest(demo.resources.reranker, index.analyzer))
    with ThreadPoolExecutor(4) as workers:
        learnt = list(workers.map(lambda _: learnt_threshold(index, counted), range(8)))
    assert len(set(learnt)) == 1
    assert learnt[0] == pytest.approx(0.2755, abs=5e-4)
    assert counted.asked == 62  # two of the sample have no text to ask with
    learnt_threshold(index, _Counted("another", counted.inner))
    assert counted.asked == 62  # two of the sample have no text to ask with


def test_a_threshold_without_translations_is_not_the_one_with_them(demo: Engine) -> None:
    learnt = []
    for resources in (demo.resources, demo.resources.without_glossary()):
        similarity = open_similarity(resources.index, resources.reranker)
        learnt.append(learnt_threshold(resources.index, similarity))
        assert learnt[-1] == learn_threshold(resources.index.store.sample(SAMPLE), similarity)
    assert learnt[0] != learnt[1]


def test_the_share_of_the_best_is_near_1_for_the_text_itself_and_0_for_unrelated_text(demo: Engine) -> None:
    similarity = open_similarity(demo.open_index, demo.resources.reranker)
    (record,) = [each for each in demo.open_index.store.fetch(["DEMO-OCE-002"]) if each]
    passage = to_passage(record)
    text = "Wells in fractured rock respond to rain within hours."
    nothing = Passage("", "Nothing.", [], [["zzzz"]])
    near, far = similarity.of(text, [passage, nothing])
    assert 0.5 < near <= 1.2
    assert far == 0
    twice = similarity.of(f"{text} {text}", [passage, nothing])
    assert twice[0] == pytest.approx(near, rel=0.25)  # a longer text scores more, its share stays
    assert similarity.of("qqqq", [passage, nothing]) == [0, 0]
    assert similarity.of(text, []) == []


def test_lsa_vectors_are_not_of_a_model(demo: Engine) -> None:
    assert demo.open_index.dense is not None
    assert model_vectors(demo.open_index) is None


def test_a_sample_has_different_records_and_no_more_than_there_are(demo: Engine) -> None:
    store = demo.open_index.store
    for most, there in ((0, 0), (1, 1), (64, 64), (235, 235), (10_000, 235)):
        docids = [each.record.docid for each in store.sample(most)]
        assert len(docids) == len(set(docids)) == there
        assert docids == [each.record.docid for each in store.sample(most)]


class _Counted:
    def __init__(self, name: str, inner: ShareOfBest) -> None:
        self.name = name
        self.inner = inner
        self.asked = 0

    def of(self, text: str, passages: Sequence[Passage]) -> list[float]:
        self.asked += 1
        return self.inner.of(text, passages)
