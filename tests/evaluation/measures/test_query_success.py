from __future__ import annotations

import pytest

from shrag.evaluation.measures.providers import all_recall, article, ranking_at, recall, relevant_at, success

RELEVANT = frozenset("bd")


def test_success_asks_for_one_relevant_document_and_recall_for_their_share() -> None:
    ranking = ["a", "b", "c", "d"]
    assert [success(ranking, RELEVANT, cutoff) for cutoff in (1, 2, 4, None)] == [0.0, 1.0, 1.0, 1.0]
    assert [recall(ranking, RELEVANT, cutoff) for cutoff in (1, 2, 4, None)] == [0.0, 0.5, 1.0, 1.0]


def test_all_recall_asks_for_every_relevant_document_and_cannot_be_had_below_their_number() -> None:
    ranking = ["b", "d", "a", "e"]
    assert [all_recall(ranking, RELEVANT, cutoff) for cutoff in (1, 2, None)] == [0.0, 1.0, 1.0]
    assert all_recall(ranking, RELEVANT | {"c"}, None) == 0.0


@pytest.mark.parametrize("measure", [success, recall, all_recall])
def test_nothing_ranked_or_nothing_relevant_is_zero(measure: object) -> None:
    assert callable(measure)
    assert measure([], RELEVANT, None) == 0.0
    assert measure(["a"], frozenset(), None) == 0.0
    assert measure([], frozenset(), 5) == 0.0


def test_the_first_mark_ends_the_article_and_an_empty_article_is_none() -> None:
    assert [article(docid) for docid in ("39#0", "C#2#1", "plain", "#7", "")] == ["39", "C", "plain", "#7", ""]


def test_an_article_stands_once_where_its_best_passage_stood() -> None:
    assert ranking_at(["2#1", "1#0", "2#0", "1#5", "3#0"], "article") == ["2", "1", "3"]
    assert ranking_at(["2#1", "1#0"], "document") == ["2#1", "1#0"]


def test_an_article_is_relevant_through_any_of_its_passages_at_or_above_the_grade() -> None:
    grades = {"1#0": 0, "1#1": 2, "2#0": 1, "3#0": -1}
    assert relevant_at(grades, 1, "article") == {"1", "2"}
    assert relevant_at(grades, 2, "article") == {"1"}
    assert relevant_at(grades, 1, "document") == {"1#1", "2#0"}
