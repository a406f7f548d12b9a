"""The frozen vocabulary of a generation: its terms with their numbers and document frequencies, and its mean lengths.

It is written once from Lucene's term dictionary into a SQLite file, so that a machine that searches a vector database
needs no Lucene files. The file is not read as a whole. A term's number is its position among all terms, from 0, in the
order of their UTF-8 bytes.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from shrag.corpora.files import sync_file
from shrag.indexing.bm25 import Bm25
from shrag.indexing.errors import IndexDamaged
from shrag.indexing.search_engine import FieldStatistics, SearchEngine, Statistics
from shrag.indexing.storage.checksums import open_readonly
from shrag.messages.text import Text

_BATCH = 10_000
_ASKED = 500
_CACHED_TERMS = 200_000


class KnownTerm(NamedTuple):
    """A term's number, and the numbers of documents that have it in the contents and in the title."""

    number: int
    in_contents: int
    in_title: int


class VocabularyHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The figures of the whole generation.

    Attributes:
        source: The digest of the generation's manifest.
        records: The number of its documents.
        contents: The number of documents with contents, and the mean length of the contents in terms.
        title: The number of documents with a title, and the mean length of the titles in terms.
        bm25: The index's parameters.
    """

    source: str
    records: int
    contents: tuple[int, float]
    title: tuple[int, float]
    bm25: Bm25


def write_vocabulary(
    path: Path, source: str, records: int, terms: Iterable[str], engine: SearchEngine, bm25: Bm25
) -> None:
    """Write the vocabulary of an index's ``terms`` with the engine's statistics.

    The terms must be in the order of their UTF-8 bytes. The file appears under its name once it is complete and on the
    disk.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.draft")
    draft.unlink(missing_ok=True)
    written = 0
    with closing(sqlite3.connect(draft, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("CREATE TABLE header (json BLOB)")
        database.execute(
            "CREATE TABLE terms (term TEXT PRIMARY KEY, number INTEGER, contents INTEGER, title INTEGER) WITHOUT ROWID"
        )
        database.execute("BEGIN")
        nothing = engine.statistics([])
        left = iter(terms)
        while batch := list(islice(left, _BATCH)):
            found = engine.statistics(batch)
            contents, title = found.contents.document_frequencies, found.title.document_frequencies
            database.executemany(
                "INSERT INTO terms VALUES (?, ?, ?, ?)",
                ((term, number, contents[term], title[term]) for number, term in enumerate(batch, written)),
            )
            written += len(batch)
        header = VocabularyHeader(source, records, _collection(nothing.contents), _collection(nothing.title), bm25)
        database.execute("INSERT INTO header VALUES (?)", (msgspec.json.encode(header),))
        database.execute("COMMIT")
    sync_file(draft)
    draft.rename(path)
    sync_file(path.parent)


class Vocabulary:
    """A vocabulary, open for reading. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._database = open_readonly(path)
        self._lock = threading.Lock()
        self._cache: dict[str, KnownTerm | None] = {}
        try:
            (data,) = self._database.execute("SELECT json FROM header").fetchone()
            self.header = msgspec.json.decode(data, type=VocabularyHeader)
        except (sqlite3.DatabaseError, msgspec.MsgspecError, TypeError) as error:
            self._database.close()
            raise IndexDamaged(
                Text(
                    "{path} is not the vocabulary of an index ({error}): delete it and load the index again.",
                    path=path,
                    error=error,
                )
            ) from error

    def terms(self, terms: Iterable[str]) -> dict[str, KnownTerm]:
        """Return those of the terms that occur in any document."""
        found: dict[str, KnownTerm] = {}
        with self._lock:
            cache = self._cache
            asked = dict.fromkeys(terms)
            unknown = [term for term in asked if term not in cache]
            if len(cache) + len(unknown) > _CACHED_TERMS:
                cache.clear()
                unknown = list(asked)
            cache.update(dict.fromkeys(unknown))
            cache.update(self._read(unknown))
            for term in asked:
                known = cache[term]
                if known is not None:
                    found[term] = known
        return found

    def statistics(self, terms: Sequence[str]) -> Statistics:
        """See :class:`~shrag.indexing.search_engine.SearchEngine`."""
        known = self.terms(terms)
        none = KnownTerm(-1, 0, 0)
        contents = {term: known.get(term, none).in_contents for term in terms}
        title = {term: known.get(term, none).in_title for term in terms}
        return Statistics(FieldStatistics(*self.header.contents, contents), FieldStatistics(*self.header.title, title))

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _read(self, terms: Sequence[str]) -> Iterator[tuple[str, KnownTerm]]:
        for start in range(0, len(terms), _ASKED):
            part = [term for term in terms[start : start + _ASKED] if _is_text(term)]
            marks = ",".join("?" * len(part))
            rows = self._database.execute(
                f"SELECT term, number, contents, title FROM terms WHERE term IN ({marks})",  # noqa: S608 - marks
                part,
            )
            for term, number, contents, title in rows:
                yield term, KnownTerm(number, contents, title)


def _is_text(term: str) -> bool:
    """Return whether a term can be encoded in UTF-8. Half of a surrogate pair cannot, and is in no index."""
    return not any("\ud800" <= character <= "\udfff" for character in term)


def _collection(field: FieldStatistics) -> tuple[int, float]:
    return field.documents, field.average_length
