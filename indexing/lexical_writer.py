"""Writing the Lucene index: analysed terms and whole records in, one committed segment out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import msgspec

from shrag.indexing.analysed import AnalysedRecord
from shrag.indexing.bm25 import Bm25
from shrag.indexing.jvm import JavaClass, java, java_bytes, java_errors, lucene
from shrag.indexing.lexical import CONTENTS, DOCID, STORED, TITLE, similarity

_BUFFER_MB = 256.0


class LexicalWriter:
    """Writes a new index into an empty folder, or goes on with one. Nothing can be read before :meth:`commit`."""

    def __init__(self, folder: Path, parameters: Bm25) -> None:
        self._doing = f"writing {folder}"
        self._document = lucene("document.Document")
        self._string_field = lucene("document.StringField")
        self._docid_value = lucene("document.SortedDocValuesField")
        self._field = lucene("document.Field")
        self._stored_field = lucene("document.StoredField")
        self._bytes = lucene("util.BytesRef")
        self._not_stored = lucene("document.Field$Store").NO
        self._analysed = _analysed_type()
        self._term = lucene("index.Term")
        with java_errors(self._doing):
            # Terms come analysed and joined by spaces; all that is left to Lucene is to split there.
            config = lucene("index.IndexWriterConfig")(lucene("analysis.core.WhitespaceAnalyzer")())
            config.setSimilarity(similarity(parameters))
            config.setRAMBufferSizeMB(_BUFFER_MB)
            config.setOpenMode(lucene("index.IndexWriterConfig$OpenMode").CREATE_OR_APPEND)
            self._directory = lucene("store.FSDirectory").open(java("java.nio.file.Paths").get(str(folder)))
            self._writer = lucene("index.IndexWriter")(self._directory, config)

    def __enter__(self) -> LexicalWriter:
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

    def add(self, analysed: AnalysedRecord) -> None:
        """Add one record. The caller sees to it that no docid comes twice."""
        docid = analysed.record.docid
        document = self._document()
        document.add(self._string_field(DOCID, docid, self._not_stored))
        document.add(self._docid_value(DOCID, self._bytes(docid)))
        document.add(self._field(TITLE, " ".join(analysed.title_terms), self._analysed))
        document.add(self._field(CONTENTS, " ".join(analysed.contents_terms), self._analysed))
        document.add(self._stored_field(STORED, java_bytes(msgspec.json.encode(analysed))))
        with java_errors(self._doing):
            self._writer.addDocument(document)

    def delete(self, docid: str) -> None:
        """Delete the record of ``docid`` where there is one; of those added later nothing."""
        with java_errors(self._doing):
            self._writer.deleteDocuments([self._term(DOCID, docid)])

    def commit(self, about: Mapping[str, str]) -> int:
        """Merge to one segment, make it durable, and return the number of documents in it.

        ``about`` goes into the commit itself, so that what is said of the content and the content cannot disagree.
        """
        data = java("java.util.HashMap")()
        for key, value in about.items():
            data.put(key, value)
        with java_errors(self._doing):
            self._writer.forceMerge(1)
            self._writer.setLiveCommitData(data.entrySet())
            self._writer.commit()
            return int(self._writer.getDocStats().numDocs)


def _analysed_type() -> JavaClass:
    """Return the type of an analysed field: documents and frequencies, without positions, which BM25 does not use."""
    kind = lucene("document.FieldType")()
    kind.setIndexOptions(lucene("index.IndexOptions").DOCS_AND_FREQS)
    kind.setTokenized(True)
    kind.freeze()
    return kind
