"""The query tree: small, immutable, built from terms and never from a string, so no text is ever parsed as a query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Term:
    """Documents that hold the term; scored by BM25 over the index's fields."""

    term: str


@dataclass(frozen=True, slots=True)
class Or:
    """Documents that match any clause; scores add up. Without clauses, none."""

    clauses: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class And:
    """Documents that match every clause; scores add up. Without clauses, none."""

    clauses: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Documents that match ``wanted`` and not ``unwanted``; scored by ``wanted``."""

    wanted: Query
    unwanted: Query


Query = Term | Or | And | Not


def any_of(terms: Iterable[str]) -> Or:
    """Return the disjunction of single terms; a term given twice counts twice, as in a bag of words."""
    return Or(tuple(Term(term) for term in terms))


def count_terms(query: Query) -> int:
    """Return how many leaves the tree has."""
    match query:
        case Term():
            return 1
        case Or(clauses) | And(clauses):
            return sum(count_terms(clause) for clause in clauses)
        case Not(wanted, unwanted):
            return count_terms(wanted) + count_terms(unwanted)
