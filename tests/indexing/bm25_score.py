"""BM25 of one field for a bag of query terms, to compare search engines with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from shrag.indexing.bm25 import Bm25, FieldScores, idf
from shrag.indexing.search_engine import FieldStatistics


def bm25_score(query: Mapping[str, int], terms: Sequence[str], field: FieldStatistics, parameters: Bm25) -> float:
    """Score one field's ``terms`` for a bag of query terms (term → how often the query has it)."""
    counts = Counter(term for term in terms if term in query)
    idfs = {term: idf(field.document_frequencies[term], field.documents) for term in query}
    scores = FieldScores(idfs, field.average_length, parameters).of(counts, len(terms))
    return sum(query[term] * score for term, score in scores.items())
