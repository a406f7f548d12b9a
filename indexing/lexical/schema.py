"""Fields and similarity of the Lucene index.

The fields have Anserini's names and stored values, so that Pyserini's ``LuceneSearcher`` reads the index too.
"""

from __future__ import annotations

from shrag.indexing.bm25 import Bm25
from shrag.indexing.lexical.jvm import JavaClass, lucene_class

DOCID = "id"
"""The identifier: an untokenized term, stored, and a binary doc value."""

TITLE = "title"
"""The terms of the title."""

CONTENTS = "contents"
"""The terms of title and text together. The stored value has one line for the title and one for each sentence. One
field ranks better than the sum of two, because a term in both is normalized by one length.
"""

RAW = "raw"
"""The record as JSON, stored and not indexed."""

FOLDER = "lucene"
"""Name of the folder of Lucene's files in an index's folder."""


def similarity(parameters: Bm25) -> JavaClass:
    """Return Lucene's BM25 similarity."""
    return lucene_class("search.similarities.BM25Similarity")(parameters.k1, parameters.b)
