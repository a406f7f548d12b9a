"""Words and cosines on one scale, whatever the language of a record."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import pytest

from shrag.indexing.vectors.hybrid_reranker import HybridReranker, add_vectors
from shrag.indexing.vectors.vector_index import VectorReranker
from shrag.models.reranker import Passage


@dataclass(frozen=True)
class Scores:
    """Implements :class:`~shrag.models.reranker.Reranker` by the scores of docids."""

    scores: Mapping[str, float]
    name: str = "words"
    is_model: bool = False

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        return [self.scores[passage.docid] for passage in passages]


def _passages(**languages: str) -> list[Passage]:
    return [Passage("", "", (), (), docid, language) for docid, language in languages.items()]


def _hybrid(words: Mapping[str, float], cosines: Mapping[str, float], weight: float) -> HybridReranker:
    return HybridReranker(Scores(words), cast("VectorReranker", Scores(cosines, "gte cosine", is_model=True)), weight)


def test_with_a_weight_of_1_words_and_cosines_of_the_same_spread_count_alike() -> None:
    hybrid = _hybrid({"a": 10.0, "b": 30.0}, {"a": 0.9, "b": 0.7}, 1.0)
    assert hybrid.score("?", _passages(a="en", b="en")) == pytest.approx([20.0, 20.0])
    half = _hybrid({"a": 10.0, "b": 30.0}, {"a": 0.9, "b": 0.7}, 0.5)
    assert half.score("?", _passages(a="en", b="en")) == pytest.approx([15.0, 25.0])


def test_records_in_the_language_whose_cosines_are_all_higher_do_not_come_first_for_that() -> None:
    words = {"ko-1": 20.0, "ko-2": 10.0, "en-1": 22.0, "en-2": 8.0}
    cosines = {"ko-1": 0.90, "ko-2": 0.86, "en-1": 0.80, "en-2": 0.76}
    hybrid = _hybrid(words, cosines, 1.0)
    passages = _passages(**{docid: docid[:2] for docid in words})
    scores = dict(zip(words, hybrid.score("한국어 질문", passages), strict=True))
    assert sorted(scores, key=lambda docid: -scores[docid]) == ["en-1", "ko-1", "ko-2", "en-2"]
    # The mean of each language's cosines is taken off, so both languages get as much: 20 ± 7 and 22 ± 7, where σ is 6.
    assert scores["ko-1"] - words["ko-1"] == pytest.approx(scores["en-1"] - words["en-1"])
    assert scores["ko-1"] - words["ko-1"] == pytest.approx(6.082763)


def test_the_only_candidate_of_a_language_keeps_its_score_by_words() -> None:
    hybrid = _hybrid({"a": 10.0, "b": 30.0, "c": 25.0}, {"a": 0.9, "b": 0.7, "c": 0.1}, 0.5)
    assert hybrid.score("?", _passages(a="en", b="en", c="ko"))[2] == 25.0


def test_what_the_words_leave_out_stays_left_out_and_has_no_part_in_the_spread() -> None:
    words, cosines = {"a": 10.0, "b": 30.0, "c": -math.inf}, {"a": 0.9, "b": 0.7, "c": 0.99}
    scores = _hybrid(words, cosines, 1.0).score("?", _passages(a="en", b="en", c="en"))
    assert scores == pytest.approx([20.0, 20.0, -math.inf])


@pytest.mark.parametrize("cosines", [{"a": 0.5, "b": 0.5}, {"a": 0.0, "b": 0.0}])
def test_equal_cosines_change_nothing(cosines: Mapping[str, float]) -> None:
    assert _hybrid({"a": 1.0, "b": 2.0}, cosines, 1.0).score("?", _passages(a="en", b="en")) == [1.0, 2.0]


def test_no_passages_and_none_that_the_words_keep() -> None:
    hybrid = _hybrid({"a": -math.inf}, {"a": 1.0}, 1.0)
    assert hybrid.score("?", []) == []
    assert hybrid.score("?", _passages(a="ko")) == [-math.inf]


def test_the_weight_is_that_which_fits_the_vectors_unless_it_is_given() -> None:
    learnt = cast("VectorReranker", Scores({}, "gte cosine", is_model=True))
    counted = cast("VectorReranker", Scores({}, "LSA cosine"))
    assert add_vectors(Scores({}), learnt).name == "words + 0.5 × gte cosine"
    assert add_vectors(Scores({}), counted).name == "words + 0.1 × LSA cosine"
    assert add_vectors(Scores({}), counted, 2.0).weight == 2.0
    assert [add_vectors(Scores({}), vectors).is_model for vectors in (learnt, counted)] == [True, False]
