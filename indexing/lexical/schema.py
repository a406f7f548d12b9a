"""Field names, similarity, query encoding shared with Java.

A NUL stands between two parts. Each part is a node, by its first letter, and its clauses follow it: ``t`` a term; ``o``
or, ``a`` and, ``b`` the best of so many clauses; ``n`` the wanted and the unwanted; ``w`` a weight and what it is of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from shrag.indexing.bm25 import Bm25
from shrag.indexing.lexical.jvm import JavaClass, lucene
from shrag.indexing.query import And, Boost, DisjunctionMax, Not, Or, Query, Term

DOCID = "docid"
"""The identifier: one untokenised term, and a doc value to read it back from a hit."""

TITLE = "title"
"""The title's terms."""

CONTENTS = "contents"
"""The terms of title and text together. One field for both ranks better than two added up: a term in the title and a
term in the text are then counted once, against one length."""

STORED = "stored"
"""The whole analysed record as JSON, stored and not indexed."""

FOLDER = "lucene"
"""Where in an index's folder Lucene's files lie."""


def similarity(parameters: Bm25) -> JavaClass:
    """Return Lucene's BM25 with ``parameters``."""
    return lucene("search.similarities.BM25Similarity")(parameters.k1, parameters.b)


SEPARATOR = "\0"
"""Stands between two parts of a query, and between two texts, in both directions."""


def write_queries(queries: Iterable[Query]) -> str:
    """Return the queries, one after another."""
    return SEPARATOR.join(part for query in queries for part in _parts(query))


def join_texts(texts: Iterable[str]) -> str:
    """Return several texts, at least one, as Java is given them; what has a NUL in it is in no index, then neither."""
    return SEPARATOR.join(map(_whole, texts))


def _parts(query: Query) -> Iterator[str]:
    match query:
        case Term(term):
            yield "t" + _whole(term)
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
            yield "t" + _whole(clause.term)
        else:
            yield from _parts(clause)


def _whole(text: str) -> str:
    return text if SEPARATOR not in text else text.replace(SEPARATOR, "\ufffd")
