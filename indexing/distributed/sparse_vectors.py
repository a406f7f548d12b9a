"""BM25 as an inner product of sparse vectors (docs/en/how-to/distributed-engine.md).

A document's weight follows from a term's count and the field's length (:mod:`shrag.indexing.bm25`). A query's weight is
the term's idf, multiplied by the boost for the title. Dimension ``2 n`` stands for term ``n`` in the contents, and
``2 n + 1`` for term ``n`` in the title. The statistics are those of the whole index, however a database divides it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from shrag.indexing.bm25 import FieldScores, idf
from shrag.indexing.distributed.collection import SparseVector
from shrag.indexing.distributed.vocabulary import KnownTerm, VocabularyHeader
from shrag.indexing.errors import IndexDamaged
from shrag.messages.text import Text

NO_TERM = 2**32 - 2
"""The only dimension of a document without terms, since a database refuses an empty vector. No term has it."""


def document_vector(
    contents: Sequence[str], title: Sequence[str], known: Mapping[str, KnownTerm], header: VocabularyHeader
) -> SparseVector:
    """Return the vector of a document with these terms, which must all be ``known``."""
    weights: dict[int, float] = {}
    for terms, (_, average), place in ((contents, header.contents, 0), (title, header.title, 1)):
        counts = Counter(terms)
        parts = FieldScores(dict.fromkeys(counts, 1.0), average, header.bm25).of(counts, len(terms))
        for term, weight in parts.items():
            weights[2 * _number(term, known) + place] = weight
    return sparse_vector(weights) if weights else sparse_vector({NO_TERM: 1.0})


def term_weights(term: KnownTerm, header: VocabularyHeader) -> dict[int, float]:
    """Return the weights of a term in a query, by dimension."""
    weights = {2 * term.number: idf(term.in_contents, header.contents[0])}
    boost = header.bm25.title_boost
    if boost and term.in_title:
        weights[2 * term.number + 1] = boost * idf(term.in_title, header.title[0])
    return weights


def sparse_vector(weights: Mapping[int, float]) -> SparseVector:
    """Return the sparse vector with these weights by dimension."""
    dimensions = np.fromiter(weights.keys(), dtype=np.uint32, count=len(weights))
    order = np.argsort(dimensions)
    return SparseVector(dimensions[order], np.fromiter(weights.values(), dtype=np.float32, count=len(weights))[order])


def _number(term: str, known: Mapping[str, KnownTerm]) -> int:
    found = known.get(term)
    if found is None:
        raise IndexDamaged(Text("The vocabulary lacks the term {term!r} of a record: load the index again.", term=term))
    return found.number


def term_numbers(terms: Iterable[str], known: Mapping[str, KnownTerm]) -> tuple[int, ...]:
    """Return the numbers of the terms, each once, in ascending order."""
    return tuple(sorted({_number(term, known) for term in terms}))
