from __future__ import annotations

from shrag.indexing.query import And, Not, Or, Term, any_of, terms_of


def test_any_of_keeps_repeated_terms() -> None:
    assert any_of(["a", "b", "a"]) == Or((Term("a"), Term("b"), Term("a")))


def test_terms_are_those_of_the_whole_tree() -> None:
    assert [*terms_of(Not(And((Term("a"), any_of(["b", "c"]))), Term("d")))] == ["a", "b", "c", "d"]
    assert [*terms_of(Or(()))] == []


def test_queries_are_values() -> None:
    assert {any_of(["a"]), any_of(["a"])} == {any_of(["a"])}
