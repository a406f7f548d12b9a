from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.serving.retrieval.ranking import reciprocal_rank_fusion

rankings = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=12), max_size=4)


def test_the_formula_is_the_papers() -> None:
    fused = dict(reciprocal_rank_fusion([["a", "b", "c"], ["c", "d"]]))
    assert fused == pytest.approx({"a": 1 / 61, "b": 1 / 62, "c": 1 / 63 + 1 / 61, "d": 1 / 62})
    assert [docid for docid, _ in reciprocal_rank_fusion([["a", "b", "c"], ["c", "d"]])] == ["c", "a", "b", "d"]


def test_a_document_named_twice_counts_once_and_takes_no_place_from_the_next() -> None:
    assert reciprocal_rank_fusion([["a", "a", "b"]]) == reciprocal_rank_fusion([["a", "b"]])


def test_equal_sums_go_by_docid_whichever_ranking_comes_first() -> None:
    assert [docid for docid, _ in reciprocal_rank_fusion([["z", "m"], ["a", "k"]])] == ["a", "z", "k", "m"]


def test_nothing_fused_is_nothing_and_one_ranking_stays_as_it_is() -> None:
    assert reciprocal_rank_fusion([]) == reciprocal_rank_fusion([[], []]) == []
    assert [docid for docid, _ in reciprocal_rank_fusion([["z", "a"], []])] == ["z", "a"]


@given(rankings)
def test_every_document_comes_once_and_the_order_of_rankings_makes_no_difference(lists: list[list[str]]) -> None:
    fused = reciprocal_rank_fusion(lists)
    assert sorted(docid for docid, _ in fused) == sorted({docid for ranking in lists for docid in ranking})
    again = reciprocal_rank_fusion(lists[::-1])
    assert {docid: pytest.approx(score) for docid, score in again} == dict(fused)
