"""Planned queries: the bound is at least the score, and the filter passes what matches and nothing else."""

from __future__ import annotations

import pytest

from shrag.indexing.bm25 import Bm25
from shrag.indexing.distributed.collection import EVERYTHING, Every, Has, Some, Without
from shrag.indexing.distributed.query_plan import exact_scores, matching_condition, plan_query
from shrag.indexing.distributed.sparse_vectors import document_vector
from shrag.indexing.distributed.vocabulary import KnownTerm, VocabularyHeader
from shrag.indexing.query import And, Boost, DisjunctionMax, Not, Or, Query, Term, any_of

HEADER = VocabularyHeader("test", 10, (10, 4.0), (8, 1.5), Bm25(title_boost=0.2))
KNOWN = {"a": KnownTerm(0, 5, 2), "b": KnownTerm(1, 3, 0), "c": KnownTerm(2, 1, 1)}
A, B, C = Term("a"), Term("b"), Term("c")
DOCUMENTS = (["a", "a", "b"], ["b"], ["a", "b", "c", "c", "c", "c"], ["c"])
VECTORS = [document_vector(terms, terms[:1] if "a" in terms else [], KNOWN, HEADER) for terms in DOCUMENTS]


def _bounds(query: Query) -> list[float]:
    plan = plan_query(query, KNOWN, HEADER)
    assert plan is not None
    weights = dict(zip(plan.bound.dimensions.tolist(), plan.bound.weights.tolist(), strict=True))
    return [
        sum(weights.get(dimension, 0.0) * weight for dimension, weight in zip(*map(list, vector), strict=True))
        for vector in VECTORS
    ]


def test_a_sum_is_its_own_bound_and_every_other_tree_is_at_most_its_bound() -> None:
    matches, scores = exact_scores(any_of("aab"), VECTORS, KNOWN, HEADER)
    assert matches.tolist() == [True, True, True, False]
    assert max(abs(left - right) for left, right in zip(_bounds(any_of("aab")), scores.tolist(), strict=True)) < 1e-6
    for query in (DisjunctionMax((A, Boost(B, 0.5), C)), Or((And((A, C)), B)), Boost(Not(Or((A, B)), C), 2.0)):
        _, scores = exact_scores(query, VECTORS, KNOWN, HEADER)
        assert all(score <= bound + 1e-6 for score, bound in zip(scores.tolist(), _bounds(query), strict=True))


def test_a_part_that_a_document_does_not_match_neither_adds_to_its_score_nor_takes_from_it() -> None:
    (in_b, of_b), (in_a, of_a) = (exact_scores(query, VECTORS, KNOWN, HEADER) for query in (B, A))
    for part in (And((A, C)), Not(A, B)):  # the second document has b alone, the first a and b
        matches, scores = exact_scores(Or((part, B)), VECTORS, KNOWN, HEADER)
        assert (matches[1], scores[1]) == (True, of_b[1])
        assert (matches[0], scores[0]) == (True, of_b[0])
        assert exact_scores(DisjunctionMax((part, B)), VECTORS, KNOWN, HEADER)[1][:2].tolist() == of_b[:2].tolist()
    assert exact_scores(And((A, B)), VECTORS, KNOWN, HEADER)[0].tolist() == (in_a & in_b).tolist()
    assert exact_scores(And((A, B)), VECTORS, KNOWN, HEADER)[1][0] == pytest.approx(of_a[0] + of_b[0])


def test_only_conjunctions_and_exclusions_need_a_condition() -> None:
    queries = (any_of("ab"), DisjunctionMax((A, B)), And((A, B)), Not(A, B))
    plans = [plan_query(query, KNOWN, HEADER) for query in queries]
    assert [plan.condition for plan in plans if plan] == [
        EVERYTHING,
        EVERYTHING,
        Every((Has("terms", (0,)), Has("terms", (1,)))),
        Every((Has("terms", (0,)), Without(Has("terms", (1,))))),
    ]


def test_what_no_document_can_match_is_not_asked() -> None:
    missing = Term("missing")
    for query in (
        missing,
        Or(()),
        And(()),
        And((A, missing)),
        Not(missing, A),
        DisjunctionMax(()),
        Boost(missing, 2.0),
    ):
        assert plan_query(query, KNOWN, HEADER) is None
    assert matching_condition(Not(A, missing), KNOWN) == Has("terms", (0,))
    assert matching_condition(Or((A, And((B, C)), missing, B)), KNOWN) == Some(
        (Has("terms", (0, 1)), Every((Has("terms", (1,)), Has("terms", (2,)))))
    )
