"""Query tree: Term, Or, And, Not, DisjunctionMax, Boost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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


@dataclass(frozen=True, slots=True)
class DisjunctionMax:
    """Documents that match any clause; scored by the best clause, so that synonyms count once."""

    clauses: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class Boost:
    """Documents that match ``query``, its score times ``weight``, which must be positive."""

    query: Query
    weight: float


Query = Term | Or | And | Not | DisjunctionMax | Boost


def any_of(terms: Iterable[str]) -> Or:
    """Return the disjunction of terms. A repeated term counts each time, as in a bag of words."""
    return Or(tuple(Term(term) for term in terms))


def terms_of(tree: Query) -> Iterator[str]:
    """Yield the terms of the tree's leaves, repeated ones too."""
    match tree:
        case Term(term):
            yield term
        case Or(clauses) | And(clauses) | DisjunctionMax(clauses):
            for clause in clauses:
                yield from terms_of(clause)
        case Not(wanted, unwanted):
            yield from terms_of(wanted)
            yield from terms_of(unwanted)
        case Boost(query):
            yield from terms_of(query)
