from __future__ import annotations

import pytest

from shrag.indexing.lexical_query import join_texts, split_texts, write_queries
from shrag.indexing.query import And, Best, Not, Or, Query, Term, Weighted, any_of


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        (Term("film"), ["tfilm"]),
        (any_of(["그래핀", "film"]), ["o2", "t그래핀", "tfilm"]),
        (Or(()), ["o0"]),
        (And((Term("a"), Or((And(()), Term("b"))))), ["a2", "ta", "o2", "a0", "tb"]),
        (Not(Term("a"), any_of(["b"])), ["n", "ta", "o1", "tb"]),
        (Best((any_of(["a"]), Weighted(any_of(["b"]), 0.1))), ["b2", "o1", "ta", "w0.1", "o1", "tb"]),
    ],
)
def test_a_tree_is_written_node_by_node_with_its_clauses_behind_it(query: Query, parts: list[str]) -> None:
    assert write_queries([query]) == "\0".join(parts)


def test_queries_stand_one_after_another() -> None:
    assert write_queries([any_of(["a", "b"]), Term("")]) == "o2\0ta\0tb\0t"


def test_what_separates_cannot_be_written_into_a_term() -> None:
    assert write_queries([Term("a\0tb"), any_of(["\0"])]) == "ta\ufffdtb\0o1\0t\ufffd"
    assert split_texts(join_texts(["a\0b", "", "c"])) == ["a\ufffdb", "", "c"]
