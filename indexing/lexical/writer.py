"""LuceneIndexWriter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType

from shrag.indexing.analyzed_record import PackedRecord
from shrag.indexing.bm25 import Bm25
from shrag.indexing.lexical.jvm import JavaClass, java, java_bytes, java_errors, lucene
from shrag.indexing.lexical.schema import CONTENTS, DOCID, STORED, TITLE, similarity

_BUFFER_MB = 256.0

# Segments wait for the merge at the end, so that each record is written twice and no more, up to this many of them.
_SEGMENTS_AT_ONCE = 128


class LuceneIndexWriter:
    """Writes an index, from nothing or from where its last commit left off; what came after that commit is dropped.

    Documents lie in the order they are added in. (Lucene's index sort by docid would double the time of writing; the
    reader breaks ties by docid instead, so that ranking does not depend on how they lie.)
    """

    def __init__(self, folder: Path, parameters: Bm25) -> None:
        self._doing = f"writing {folder}"
        self._bytes = lucene("util.BytesRef")
        self._term = lucene("index.Term")
        with java_errors(self._doing):
            # Terms come analysed and joined by spaces; all that is left to Lucene is to split there.
            config = lucene("index.IndexWriterConfig")(lucene("analysis.core.WhitespaceAnalyzer")())
            config.setSimilarity(similarity(parameters))
            config.setRAMBufferSizeMB(_BUFFER_MB)
            config.setOpenMode(lucene("index.IndexWriterConfig$OpenMode").CREATE_OR_APPEND)
            # Merges neighbours only, so the order stays.
            merging = lucene("index.LogDocMergePolicy")()
            merging.setMergeFactor(_SEGMENTS_AT_ONCE)
            config.setMergePolicy(merging)
            # In this thread, where its failure is ours to tell.
            config.setMergeScheduler(lucene("index.SerialMergeScheduler")())
            self._directory = lucene("store.FSDirectory").open(java("java.nio.file.Paths").get(str(folder)))
            self._writer = lucene("index.IndexWriter")(self._directory, config)
        self._make_document()

    def __enter__(self) -> LuceneIndexWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            with java_errors(self._doing):
                self._writer.close()
                self._directory.close()
        else:
            # Closing would commit half a corpus; rolling back closes without it.
            self._writer.rollback()
            self._directory.close()

    def add(self, records: Iterable[PackedRecord]) -> None:
        """Add records as :func:`~shrag.indexing.analyzed_record.pack_record` gives them; no docid may come twice."""
        with java_errors(self._doing):
            for packed in records:
                self._docid.setStringValue(packed.docid)
                self._docid_value.setBytesValue(self._bytes(packed.docid))
                self._title.setStringValue(packed.title)
                self._contents.setStringValue(packed.contents)
                self._stored.setBytesValue(java_bytes(packed.stored))
                self._writer.addDocument(self._document)

    def delete(self, docid: str) -> None:
        """Delete the record of ``docid`` where there is one; of those added later nothing."""
        with java_errors(self._doing):
            self._writer.deleteDocuments([self._term(DOCID, docid)])

    def commit_data(self) -> dict[str, str]:
        """Return the data of the last commit, empty if there is none."""
        data = self._writer.getLiveCommitData()
        return {str(entry.getKey()): str(entry.getValue()) for entry in data} if data is not None else {}

    def count(self) -> int:
        """Return the number of documents added so far, those of earlier commits included."""
        return int(self._writer.getDocStats().numDocs)

    def checkpoint(self, about: Mapping[str, str]) -> int:
        """Make what was added so far durable, and return the number of documents.

        ``about`` goes into the commit itself, so that what is said of the content and the content cannot disagree.
        """
        data = java("java.util.HashMap")()
        for key, value in about.items():
            data.put(key, value)
        with java_errors(self._doing):
            self._writer.setLiveCommitData(data.entrySet())
            self._writer.commit()
            return self.count()

    def commit(self, about: Mapping[str, str]) -> int:
        """Merge to one segment, then do as :meth:`checkpoint` does."""
        with java_errors(self._doing):
            self._writer.forceMerge(1)
        return self.checkpoint(about)

    def _make_document(self) -> None:
        """Make the one document that every record is handed over in."""
        field, analysed, empty = lucene("document.Field"), _analysed_type(), self._bytes("")
        self._docid = lucene("document.StringField")(DOCID, "", lucene("document.Field$Store").NO)
        self._docid_value = lucene("document.SortedDocValuesField")(DOCID, empty)
        self._title = field(TITLE, "", analysed)
        self._contents = field(CONTENTS, "", analysed)
        self._stored = lucene("document.StoredField")(STORED, empty)
        self._document = lucene("document.Document")()
        for part in (self._docid, self._docid_value, self._title, self._contents, self._stored):
            self._document.add(part)


def _analysed_type() -> JavaClass:
    """Return the type of an analysed field: documents and frequencies, without positions, which BM25 does not use."""
    kind = lucene("document.FieldType")()
    kind.setIndexOptions(lucene("index.IndexOptions").DOCS_AND_FREQS)
    kind.setTokenized(True)
    kind.freeze()
    return kind
