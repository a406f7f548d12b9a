"""Write a Lucene index."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from shrag.indexing.analyzed_record import PackedRecord
from shrag.indexing.bm25 import Bm25
from shrag.indexing.lexical.jvm import JavaClass, java_class, java_errors, lucene_class, project_class
from shrag.indexing.lexical.schema import CONTENTS, DOCID, RAW, TITLE, similarity

_BUFFER_MB = 256.0

# Up to this many segments are merged at once, at the end, so that each record is written only twice.
_SEGMENTS_AT_ONCE = 128


class LuceneIndexWriter:
    """Writes a new index, or continues after the last commit of an existing one; documents keep the order of adding.

    Lucene's index sort by docid would double the time, so the searcher breaks ties by docid instead.
    """

    def __init__(self, folder: Path, parameters: Bm25) -> None:
        self._doing = f"writing {folder}"
        self._bytes = lucene_class("util.BytesRef")
        self._term = lucene_class("index.Term")
        self._set_fields = project_class("FilterFields").set
        with java_errors(self._doing):
            # Records are analyzed already: Lucene splits their terms at spaces.
            config = lucene_class("index.IndexWriterConfig")(lucene_class("analysis.core.WhitespaceAnalyzer")())
            config.setSimilarity(similarity(parameters))
            config.setRAMBufferSizeMB(_BUFFER_MB)
            config.setOpenMode(lucene_class("index.IndexWriterConfig$OpenMode").CREATE_OR_APPEND)
            # Merges only adjacent segments, which keeps the order of documents.
            merging = lucene_class("index.LogDocMergePolicy")()
            merging.setMergeFactor(_SEGMENTS_AT_ONCE)
            config.setMergePolicy(merging)
            # Merges run in this thread, so that their errors are raised here.
            config.setMergeScheduler(lucene_class("index.SerialMergeScheduler")())
            self._directory = lucene_class("store.FSDirectory").open(java_class("java.nio.file.Paths").get(str(folder)))
            self._writer = lucene_class("index.IndexWriter")(self._directory, config)
        self._create_document()

    def __enter__(self) -> LuceneIndexWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with java_errors(self._doing):
            if kind is None:
                self._writer.close()
            else:
                self._writer.rollback()  # closing would commit an incomplete corpus
            self._directory.close()

    def add(self, records: Iterable[PackedRecord]) -> None:
        """Add packed records; no docid may occur twice."""
        with java_errors(self._doing):
            for packed in records:
                self._docid.setStringValue(packed.docid)
                self._docid_value.setBytesValue(self._bytes(packed.docid))
                self._title.setStringValue(packed.title)
                self._contents.setStringValue(packed.contents)
                self._raw.setStringValue(packed.raw)
                self._set_fields(self._document, packed.fields)
                self._writer.addDocument(self._document)

    def delete(self, docid: str) -> None:
        """Delete the record of ``docid`` if there is one."""
        with java_errors(self._doing):
            self._writer.deleteDocuments([self._term(DOCID, docid)])

    def commit_data(self) -> dict[str, str]:
        """Return the data of the last commit, empty if there is none."""
        data = self._writer.getLiveCommitData()
        return {str(entry.getKey()): str(entry.getValue()) for entry in data} if data is not None else {}

    def count(self) -> int:
        """Return the number of documents, including those of earlier commits."""
        return int(self._writer.getDocStats().numDocs)

    def checkpoint(self, data: Mapping[str, str]) -> int:
        """Commit with ``data``, which is stored in the commit itself; return the number of documents."""
        entries = java_class("java.util.HashMap")()
        for key, value in data.items():
            entries.put(key, value)
        with java_errors(self._doing):
            self._writer.setLiveCommitData(entries.entrySet())
            self._writer.commit()
            return self.count()

    def commit(self, data: Mapping[str, str]) -> int:
        """Merge to one segment, then commit as :meth:`checkpoint` does."""
        with java_errors(self._doing):
            self._writer.forceMerge(1)
        return self.checkpoint(data)

    def _create_document(self) -> None:
        """Create the document that is filled with every record in turn."""
        field = lucene_class("document.Field")
        self._docid = lucene_class("document.StringField")(DOCID, "", lucene_class("document.Field$Store").YES)
        self._docid_value = lucene_class("document.BinaryDocValuesField")(DOCID, self._bytes(""))
        self._title = field(TITLE, "", _analyzed_type(stored=False))
        self._contents = field(CONTENTS, "", _analyzed_type(stored=True))
        self._raw = lucene_class("document.StoredField")(RAW, "")
        self._document = lucene_class("document.Document")()
        for part in (self._docid, self._docid_value, self._title, self._contents, self._raw):
            self._document.add(part)


def _analyzed_type(*, stored: bool) -> JavaClass:
    """Return the type of an analyzed field: documents and frequencies, without positions, which BM25 does not need."""
    kind = lucene_class("document.FieldType")()
    kind.setIndexOptions(lucene_class("index.IndexOptions").DOCS_AND_FREQS)
    kind.setTokenized(True)
    kind.setStored(stored)
    kind.freeze()
    return kind
