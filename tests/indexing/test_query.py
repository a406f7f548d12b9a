from __future__ import annotations

from shrag.indexing.query import And, Not, Or, Term, any_of, count_terms


def test_any_of_keeps_repeated_terms() -> None:
    assert any_of(["a", "b", "a"]) == Or((Term("a"), Term("b"), Term("a")))


def test_terms_are_counted_over_the_whole_tree() -> None:
    assert count_terms(Not(And((Term("a"), any_of(["b", "c"]))), Term("d"))) == 4
    assert count_terms(Or(())) == 0


def test_queries_are_values() -> None:
    assert {any_of(["a"]), any_of(["a"])} == {any_of(["a"])}
