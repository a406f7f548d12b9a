"""Self-test of Java and Lucene: write, search and check an index of one record, as a build does."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path

from shrag.indexing.analyzed_record import PackedRecord
from shrag.indexing.bm25 import Bm25
from shrag.indexing.errors import DependencyMissing
from shrag.indexing.lexical.jvm import LUCENE_VERSION, java_class, lucene_class, lucene_jar
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.lexical.writer import LuceneIndexWriter
from shrag.indexing.maintenance.checks import check_lucene
from shrag.indexing.query import Term
from shrag.messages.text import Text

_RECORD = PackedRecord("1", "self test", "self test\none record", "{}", "language\0en\x1fen")


def check_java_and_lucene() -> str:
    """Return the versions of Java and Lucene after using both.

    Raises:
        DependencyMissing: A part is missing, of another version or damaged.
        IndexingError: Lucene failed.
        OSError: The temporary folder cannot be used.
    """
    found = str(lucene_class("util.Version").LATEST.toString())
    if found != LUCENE_VERSION:
        raise DependencyMissing(
            Text(
                "{lucene_jar} has Lucene {found}, and SHRAG needs {lucene_version}: install SHRAG again.",
                lucene_jar=lucene_jar(),
                found=found,
                lucene_version=LUCENE_VERSION,
            )
        )
    with tempfile.TemporaryDirectory(prefix="shrag-doctor-") as name:
        folder, parameters = Path(name), Bm25()
        with LuceneIndexWriter(folder, parameters) as writer:
            writer.add([_RECORD])
            writer.commit({})
        problems = check_lucene(folder)
        with closing(LuceneSearcher(folder, parameters)) as searcher:
            hits = searcher.search([Term("record")], 1)
    if problems or [hit.docid for hit in hits[0]] != [_RECORD.docid]:
        raise DependencyMissing(
            Text(
                "Lucene in {lucene_jar} does not work ({problems}): install SHRAG again.",
                lucene_jar=lucene_jar(),
                problems="; ".join(problems) or Text("a record is not found"),
            )
        )
    return f"Java {java_class('java.lang.System').getProperty('java.version')}, Lucene {found} ({lucene_jar()})"
