"""Fields of the Lucene index, its similarity, and the encoding of queries for Java.

An encoded query is a list of nodes separated by NUL, each before its clauses. The first letter is the kind: ``t`` a
term; ``o`` or, ``a`` and, ``b`` disjunction max, with the number of clauses; ``n`` not, with an included and an
excluded query; ``w`` a boost with its factor and a query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from shrag.indexing.bm25 import Bm25
from shrag.indexing.lexical.jvm import JavaClass, lucene_class
from shrag.indexing.query import And, Boost, DisjunctionMax, Not, Or, Query, Term

DOCID = "docid"
"""The identifier, as an untokenized term and as a doc value."""

TITLE = "title"
"""The terms of the title."""

CONTENTS = "contents"
"""The terms of title and text together, which ranks better than the sum of two fields: a term in both is normalized by
one length."""

STORED = "stored"
"""The analyzed record as JSON, stored and not indexed."""

FOLDER = "lucene"
"""Name of the folder of Lucene's files in an index's folder."""


def similarity(parameters: Bm25) -> JavaClass:
    """Return Lucene's BM25 similarity."""
    return lucene_class("search.similarities.BM25Similarity")(parameters.k1, parameters.b)


SEPARATOR = "\0"
"""Separates nodes of queries and texts, from and to Java."""


def write_queries(queries: Iterable[Query]) -> str:
    """Encode queries."""
    return SEPARATOR.join(part for query in queries for part in _parts(query))


def join_texts(texts: Iterable[str]) -> str:
    """Join at least one text for Java; a NUL in a text is replaced, and such a text is in no index."""
    return SEPARATOR.join(map(_escape, texts))


def _parts(query: Query) -> Iterator[str]:
    match query:
        case Term(term):
            yield "t" + _escape(term)
        case Or(clauses):
            yield from _several("o", clauses)
        case And(clauses):
            yield from _several("a", clauses)
        case DisjunctionMax(clauses):
            yield from _several("b", clauses)
        case Not(wanted, unwanted):
            yield "n"
            yield from _parts(wanted)
            yield from _parts(unwanted)
        case Boost(inner, weight):
            yield f"w{float(weight)!r}"
            yield from _parts(inner)


def _several(kind: str, clauses: Sequence[Query]) -> Iterator[str]:
    yield f"{kind}{len(clauses)}"
    for clause in clauses:
        if isinstance(clause, Term):
            yield "t" + _escape(clause.term)
        else:
            yield from _parts(clause)


def _escape(text: str) -> str:
    return text if SEPARATOR not in text else text.replace(SEPARATOR, "\ufffd")
