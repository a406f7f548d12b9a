"""Field names and similarity of the Lucene index."""

from __future__ import annotations

from shrag.indexing.bm25 import Bm25
from shrag.indexing.lexical.jvm import JavaClass, lucene

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
