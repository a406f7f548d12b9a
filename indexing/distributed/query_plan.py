"""Plan a query tree for a vector database: a vector that bounds its score, a filter, and the exact score of documents.

The score of a term, a disjunction or a boost is one inner product. The score of any other tree is bounded by one:

- A :class:`~shrag.indexing.query.DisjunctionMax` takes its best clause. The bound has each dimension's largest weight.
- An :class:`~shrag.indexing.query.And` or a :class:`~shrag.indexing.query.Not` inside another tree may add nothing. The
  bound has the sum of the wanted clauses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from shrag.indexing.distributed.collection import EVERYTHING, Condition, Every, Has, Some, SparseVector, Without
from shrag.indexing.distributed.sparse_vectors import sparse_vector, term_weights
from shrag.indexing.distributed.vocabulary import KnownTerm, Vocabulary, VocabularyHeader
from shrag.indexing.query import And, Boost, DisjunctionMax, Not, Or, Query, Term, terms_of

_Scores = NDArray[np.float64]
_Known = Mapping[str, KnownTerm]


@dataclass(frozen=True, slots=True)
class BoundedQuery:
    """A query in the form in which a database is asked.

    Attributes:
        query: The tree.
        bound: The query vector. Its inner product with a matching document is at least the document's score.
        condition: The condition that a document must meet besides a product above 0; :data:`EVERYTHING` for a tree
            without ``And`` and ``Not``.
    """

    query: Query
    bound: SparseVector
    condition: Condition


def plan_query(query: Query, known: _Known, header: VocabularyHeader) -> BoundedQuery | None:
    """Return the query in the form in which a database is asked, None if no document can match it."""
    matching = matching_condition(query, known)
    if matching is None:
        return None
    weights = _bound(query, known, header)
    return BoundedQuery(query, sparse_vector(weights), matching if _has_conditions(query) else EVERYTHING)


def matching_condition(query: Query, known: _Known) -> Condition | None:
    """Return the condition that exactly the matching documents meet, None if no document can match."""
    match query:
        case Term(term):
            return Has("terms", (known[term].number,)) if term in known else None
        case Or(clauses) | DisjunctionMax(clauses):
            return _any([found for clause in clauses if (found := matching_condition(clause, known)) is not None])
        case And(clauses):
            every = [matching_condition(clause, known) for clause in clauses]
            there = tuple(each for each in every if each is not None)
            return Every(there) if there and len(there) == len(every) else None
        case Not(wanted, unwanted):
            with_it, without = matching_condition(wanted, known), matching_condition(unwanted, known)
            return with_it if with_it is None or without is None else Every((with_it, Without(without)))
        case Boost(inner):
            return matching_condition(inner, known)


def exact_scores(
    query: Query, vectors: Sequence[SparseVector], known: _Known, header: VocabularyHeader
) -> tuple[NDArray[np.bool_], _Scores]:
    """Return for each document, given by its vector, whether it matches the query, and its score.

    Scores are summed in double precision and rounded to single, so that equal documents have equal scores.
    """
    leaves = {term: term_weights(known[term], header) for term in dict.fromkeys(terms_of(query)) if term in known}
    values = _leaf_scores(leaves, vectors)
    matches, scores = _evaluate(query, values, len(vectors))
    return matches, scores.astype(np.float32).astype(np.float64)


def known_terms(queries: Sequence[Query], vocabulary: Vocabulary) -> _Known:
    """Return those terms of the queries that occur in any document."""
    return vocabulary.terms(term for query in queries for term in terms_of(query))


def _any(conditions: Sequence[Condition]) -> Condition | None:
    terms = tuple(value for each in conditions if isinstance(each, Has) for value in each.values)
    others = [each for each in conditions if not isinstance(each, Has)]
    merged: list[Condition] = [*([Has("terms", tuple(sorted(set(terms))))] if terms else []), *others]
    if not merged:
        return None
    return merged[0] if len(merged) == 1 else Some(tuple(merged))


def _has_conditions(query: Query) -> bool:
    match query:
        case Term():
            return False
        case And() | Not():
            return True
        case Or(clauses) | DisjunctionMax(clauses):
            return any(map(_has_conditions, clauses))
        case Boost(inner):
            return _has_conditions(inner)


def _bound(query: Query, known: _Known, header: VocabularyHeader) -> dict[int, float]:
    match query:
        case Term(term):
            return term_weights(known[term], header) if term in known else {}
        case Or(clauses) | And(clauses):
            total: dict[int, float] = {}
            for clause in clauses:
                for dimension, weight in _bound(clause, known, header).items():
                    total[dimension] = total.get(dimension, 0.0) + weight
            return total
        case DisjunctionMax(clauses):
            best: dict[int, float] = {}
            for clause in clauses:
                for dimension, weight in _bound(clause, known, header).items():
                    best[dimension] = max(best.get(dimension, 0.0), weight)
            return best
        case Not(wanted, _):
            return _bound(wanted, known, header)
        case Boost(inner, weight):
            return {dimension: weight * each for dimension, each in _bound(inner, known, header).items()}


def _leaf_scores(leaves: Mapping[str, Mapping[int, float]], vectors: Sequence[SparseVector]) -> dict[str, _Scores]:
    """Return the score of each term in each document, 0 if the document lacks it."""
    asked = sorted({dimension for weights in leaves.values() for dimension in weights})
    found = np.zeros((len(asked), len(vectors)))
    if asked and vectors:
        dimensions = np.concatenate([each.dimensions for each in vectors]).astype(np.int64)
        weights = np.concatenate([each.weights for each in vectors])
        documents = np.repeat(np.arange(len(vectors)), [len(each.dimensions) for each in vectors])
        places = np.searchsorted(asked, dimensions)
        places[places == len(asked)] = 0
        there = np.asarray(asked)[places] == dimensions
        found[places[there], documents[there]] = weights[there]
    row = {dimension: found[place] for place, dimension in enumerate(asked)}
    return {
        term: sum((weight * row[dimension] for dimension, weight in weights.items()), np.zeros(len(vectors)))
        for term, weights in leaves.items()
    }


def _evaluate(query: Query, leaves: Mapping[str, _Scores], documents: int) -> tuple[NDArray[np.bool_], _Scores]:
    nothing = np.zeros(documents)
    match query:
        case Term(term):
            scores = leaves.get(term, nothing)
            return scores > 0, scores
        case Or(clauses) | DisjunctionMax(clauses):
            parts = [_evaluate(clause, leaves, documents) for clause in clauses]
            matches = reduce(np.logical_or, [each for each, _ in parts], nothing > 0)
            kind = np.add if isinstance(query, Or) else np.maximum
            return matches, reduce(kind, [scores for _, scores in parts], nothing)
        case And(clauses):
            parts = [_evaluate(clause, leaves, documents) for clause in clauses]
            matches = reduce(np.logical_and, [each for each, _ in parts], np.full(documents, bool(parts)))
            return matches, np.where(matches, reduce(np.add, [scores for _, scores in parts], nothing), 0)
        case Not(wanted, unwanted):
            matches, scores = _evaluate(wanted, leaves, documents)
            matches = matches & ~_evaluate(unwanted, leaves, documents)[0]
            return matches, np.where(matches, scores, 0)
        case Boost(inner, weight):
            matches, scores = _evaluate(inner, leaves, documents)
            return matches, scores * weight
