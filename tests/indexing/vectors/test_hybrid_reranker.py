"""Words and cosines on one scale, whatever the language of a record."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest

from shrag.indexing.vectors.hybrid_reranker import HybridReranker, add_vectors
from shrag.indexing.vectors.vector_index import VectorReranker
from shrag.models.reranker import Passage


@dataclass(frozen=True)
class Scores:
    """Implements :class:`~shrag.models.reranker.Reranker` by the scores of docids, and has means of languages."""

    scores: Mapping[str, float]
    name: str = "words"
    is_model: bool = False
    means: Mapping[str, float] = field(default_factory=dict)

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        return [self.scores[passage.docid] for passage in passages]

    def language_means(self, question: str) -> Mapping[str, float]:
        return self.means


def _passages(**languages: str) -> list[Passage]:
    return [Passage("", "", (), (), docid, language) for docid, language in languages.items()]


def _hybrid(
    words: Mapping[str, float],
    cosines: Mapping[str, float],
    weight: float,
    means: Mapping[str, float] | None = None,
) -> HybridReranker:
    vectors = Scores(cosines, "gte cosine", is_model=True, means=means or {"ko": 0.8, "en": 0.8})
    return HybridReranker(Scores(words), cast("VectorReranker", vectors), weight)


def test_with_a_weight_of_1_words_and_cosines_of_the_same_spread_count_alike() -> None:
    hybrid = _hybrid({"a": 10.0, "b": 30.0}, {"a": 0.9, "b": 0.7}, 1.0)
    assert hybrid.score("?", _passages(a="en", b="en")) == pytest.approx([20.0, 20.0])
    half = _hybrid({"a": 10.0, "b": 30.0}, {"a": 0.9, "b": 0.7}, 0.5)
    assert half.score("?", _passages(a="en", b="en")) == pytest.approx([15.0, 25.0])


def test_records_in_the_language_whose_cosines_are_all_higher_do_not_come_first_for_that() -> None:
    words = {"ko-1": 20.0, "ko-2": 10.0, "en-1": 22.0, "en-2": 8.0}
    cosines = {"ko-1": 0.90, "ko-2": 0.86, "en-1": 0.80, "en-2": 0.76}
    passages = _passages(**{docid: docid[:2] for docid in words})

    def order(means: Mapping[str, float]) -> list[str]:
        scores = dict(zip(words, _hybrid(words, cosines, 1.0, means).score("한국어 질문", passages), strict=True))
        return sorted(scores, key=lambda docid: -scores[docid])

    assert order({"ko": 0.85, "en": 0.75}) == ["en-1", "ko-1", "ko-2", "en-2"]
    assert order({"ko": 0.8, "en": 0.8})[0] == "ko-1"


def test_a_cosine_counts_by_how_far_it_is_from_the_mean_of_its_language() -> None:
    hybrid = _hybrid({"ko": 10.0, "en": 30.0}, {"ko": 0.95, "en": 0.80}, 1.0, {"ko": 0.85, "en": 0.75})
    # 0.10 and 0.05 above the means, so as far from each other as the words put them.
    assert hybrid.score("?", _passages(ko="ko", en="en")) == pytest.approx([20.0, 20.0])


def test_a_language_that_no_sampled_document_has_gets_the_mean_of_the_others() -> None:
    hybrid = _hybrid({"a": 10.0, "b": 30.0}, {"a": 0.95, "b": 0.80}, 1.0, {"ko": 0.85, "en": 0.75})
    # 0.15 and 0.05 above the means.
    assert hybrid.score("?", _passages(a="und", b="en")) == pytest.approx([20.0, 20.0])


def test_what_the_words_leave_out_stays_left_out_and_has_no_part_in_the_spread() -> None:
    words, cosines = {"a": 10.0, "b": 30.0, "c": -math.inf}, {"a": 0.9, "b": 0.7, "c": 0.99}
    scores = _hybrid(words, cosines, 1.0).score("?", _passages(a="en", b="en", c="en"))
    assert scores == pytest.approx([20.0, 20.0, -math.inf])


def test_cosines_that_hardly_differ_hardly_count() -> None:
    scores = _hybrid({"a": 10.0, "b": 30.0}, {"a": 0.500002, "b": 0.5}, 1.0).score("?", _passages(a="en", b="en"))
    # 10 · 0.000001 / 0.01; by their own standard deviation both would have 20.
    assert scores == pytest.approx([10.001, 29.999], abs=1e-6)


@pytest.mark.parametrize("cosines", [{"a": 0.5, "b": 0.5}, {"a": 0.0, "b": 0.0}])
def test_equal_cosines_change_nothing(cosines: Mapping[str, float]) -> None:
    assert _hybrid({"a": 1.0, "b": 2.0}, cosines, 1.0).score("?", _passages(a="en", b="en")) == [1.0, 2.0]


def test_where_all_have_the_same_score_by_words_the_cosines_alone_decide() -> None:
    scores = _hybrid({"a": 0.0, "b": 0.0}, {"a": 0.7, "b": 0.9}, 1.0).score("?", _passages(a="en", b="en"))
    assert scores == pytest.approx([-1.0, 1.0])


def test_the_first_passages_have_the_scores_that_they_have_without_the_others() -> None:
    words, cosines = {"a": 10.0, "b": 30.0, "c": 90.0}, {"a": 0.9, "b": 0.7, "c": 0.1}
    hybrid, passages = _hybrid(words, cosines, 1.0), _passages(a="en", b="en", c="en")
    assert hybrid.add_cosines("?", passages, [10.0, 30.0, 90.0], first=2) == pytest.approx([20.0, 20.0, 20.0])
    unmeasured = hybrid.add_cosines("?", passages, [-math.inf, 30.0, 90.0], first=1)
    assert unmeasured == hybrid.add_cosines("?", passages, [-math.inf, 30.0, 90.0])


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
