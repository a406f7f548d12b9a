"""Load a published generation into a vector database, and publish it there by an alias.

indexes/NAME/loads/gen-000007/vocabulary.sqlite      the frozen vocabulary, the same for every database
indexes/NAME/loads/gen-000007/milvus-DIGEST.jsonl    the progress in one database: the collection and its stored rows

Documents are stored by their number, so loading some of them again changes nothing. A killed load that is run again
continues after its last shard, and the resulting collection is the same.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from shrag.corpora.files import FolderBusy, append_line, check_name, disk_errors, lock_folder, write_atomically
from shrag.indexing.analyzed_record import AnalyzedRecord, pack_record
from shrag.indexing.distributed.collection import Between, Collection, Row, VectorDatabase, value_number
from shrag.indexing.distributed.database import alias_name, collection_name, is_of_index, open_database
from shrag.indexing.distributed.opening import LOADS, load_folder, vocabulary_path
from shrag.indexing.distributed.sparse_vectors import document_vector, term_numbers
from shrag.indexing.distributed.vocabulary import Vocabulary, write_vocabulary
from shrag.indexing.errors import EngineUnavailable, IndexDamaged, IndexingError
from shrag.indexing.filter_fields import YEAR, record_parts
from shrag.indexing.lexical.jvm import start_java
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.search_engine import EngineChoice
from shrag.indexing.storage.generations import check_files, current_generation, list_generations
from shrag.indexing.storage.manifest import IndexManifest, manifest_digest
from shrag.indexing.storage.vector_card import FOLDER as VECTORS
from shrag.indexing.vectors.store import Float16Vectors, StoredDocuments, open_vectors
from shrag.messages.text import Text, message_of

SHARD_ROWS = 8_192
_BATCH_ROWS = 512

Report = Callable[[str, int], None]


def load_index(
    indexes: Path,
    name: str,
    choice: EngineChoice,
    report: Report = lambda what, done: None,
    shard_rows: int = SHARD_ROWS,
) -> bool:
    """Load the current generation of an index into a vector database, unless it is loaded, and publish it there.

    Args:
        indexes: The folder of all indexes.
        name: The index.
        choice: The database.
        report: Called with the progress.
        shard_rows: Records after which progress is noted.

    Returns:
        Whether any record was loaded.

    Raises:
        IndexingError: The index cannot be read, or the database lacks records in the end or does not answer.
    """
    index = indexes / check_name(name)
    folder, manifest = current_generation(index)
    with publishing(index, manifest, choice) as (database, progress):
        return _load(database, folder, manifest, progress, report, shard_rows)


@contextmanager
def publishing(
    index: Path, manifest: IndexManifest, choice: EngineChoice
) -> Iterator[tuple[VectorDatabase, LoadProgress]]:
    """Open the database for a block that loads a generation; publish the collection if the block ends without an error.

    Args:
        index: The index's folder, which is locked during the block.
        manifest: The generation's manifest.
        choice: The database.

    Yields:
        The database, and the progress of the load, which has the collection's name.

    Raises:
        IndexingError: Another process writes the index, or the database does not answer.
    """
    try:
        with disk_errors(index), lock_folder(index), closing(open_database(choice)) as database:
            path = load_folder(index, manifest.generation) / _progress_name(choice)
            progress = LoadProgress(path, collection_name(index.name, manifest))
            yield database, progress
            database.point(alias_name(index.name), progress.collection)
            _drop_old(database, index, choice)
    except FolderBusy as busy:
        raise IndexingError(message_of(busy)) from None


class OpenDocuments(NamedTuple):
    """The sources of a generation's documents: its records with their terms, its vocabulary and its vectors."""

    records: LuceneSearcher
    vocabulary: Vocabulary
    vectors: Float16Vectors | None

    def rows(self, numbers: range) -> Iterator[Row]:
        """Yield the documents with these numbers, and hold a few hundred of them in memory at a time."""
        return _rows(self.records, self.vocabulary, self.vectors, numbers)


@contextmanager
def open_documents(folder: Path, manifest: IndexManifest) -> Iterator[OpenDocuments]:
    """Open the documents of a generation, and write its vocabulary if it does not exist yet.

    Args:
        folder: The generation's folder, whose files are checked first.
        manifest: Its manifest.

    Raises:
        IndexingError: The files are damaged, or Java or Lucene is missing.
    """
    check_files(folder, manifest)
    start_java()
    searcher = LuceneSearcher(folder / FOLDER, manifest.bm25)
    with closing(searcher), closing(_vocabulary(folder.parent, manifest, searcher)) as vocabulary:
        card = manifest.vectors
        vectors = open_vectors(folder / VECTORS, card) if card and card.dimension else None  # 0 if there are no terms
        yield OpenDocuments(searcher, vocabulary, vectors)


def check_count(collection: Collection, manifest: IndexManifest, progress: LoadProgress) -> None:
    """Raise :class:`EngineUnavailable` and delete the progress, unless the collection has all records."""
    found = collection.count()
    if found != manifest.records:
        progress.remove()
        raise EngineUnavailable(
            Text(
                "The vector database has {found:,} records after {records:,} were loaded: load the index again.",
                found=found,
                records=manifest.records,
            )
        )


def copy_documents(
    documents: StoredDocuments,
    vocabulary: Vocabulary,
    collection: Collection,
    vectors: Float16Vectors | None = None,
    first: int = 0,
    shard_done: Callable[[int], None] = lambda done: None,
    shard_rows: int = SHARD_ROWS,
) -> None:
    """Store the documents from number ``first`` on; after each shard, call ``shard_done`` with the number stored."""
    total = documents.count()
    while first < total:
        end = min(first + shard_rows, total)
        rows = _rows(documents, vocabulary, vectors, range(first, end))
        while batch := list(islice(rows, _BATCH_ROWS)):
            collection.upsert(batch)
        first = end
        shard_done(end)


def _load(
    database: VectorDatabase,
    folder: Path,
    manifest: IndexManifest,
    progress: LoadProgress,
    report: Report,
    shard_rows: int,
) -> bool:
    done = progress.read()
    there = database.open(progress.collection)
    if there is not None and done == manifest.records == there.count():
        return False
    with open_documents(folder, manifest) as (searcher, vocabulary, vectors):
        card = manifest.vectors
        # Qdrant also gets the indexes that it lacks if the creation was interrupted.
        collection = database.create(progress.collection, card.dimension if card else 0)
        if not done or collection.count(Between("number", 0, done - 1)) != done:
            done = 0
        progress.begin(done)

        def shard_done(rows: int) -> None:
            progress.append(rows)
            report("records loaded", rows)

        report("records loaded", done)
        copy_documents(searcher, vocabulary, collection, vectors, done, shard_done, shard_rows)
    collection.finish()
    check_count(collection, manifest, progress)
    return True


def _vocabulary(index: Path, manifest: IndexManifest, searcher: LuceneSearcher) -> Vocabulary:
    """Return the generation's vocabulary; write it if there is none or only another generation's."""
    path, source = vocabulary_path(index, manifest.generation), manifest_digest(manifest)
    try:
        if path.is_file():
            vocabulary = Vocabulary(path)
            if vocabulary.header.source == source:
                return vocabulary
            vocabulary.close()
    except IndexDamaged:
        pass
    write_vocabulary(path, source, manifest.records, searcher.terms(), searcher, manifest.bm25)
    return Vocabulary(path)


def _rows(
    documents: StoredDocuments, vocabulary: Vocabulary, vectors: Float16Vectors | None, numbers: range
) -> Iterator[Row]:
    left, read = iter(numbers), documents.documents(numbers)
    while batch := list(islice(read, _BATCH_ROWS)):
        yield from _batch_rows(list(islice(left, len(batch))), batch, vocabulary, vectors)


def _batch_rows(
    numbers: Sequence[int], batch: Sequence[AnalyzedRecord], vocabulary: Vocabulary, vectors: Float16Vectors | None
) -> Iterator[Row]:
    contents = [analyzed.contents_terms for analyzed in batch]
    known = vocabulary.terms(chain.from_iterable(contents))
    for number, analyzed, terms in zip(numbers, batch, contents, strict=True):
        packed, record = pack_record(analyzed), analyzed.record
        fields = list(record_parts(record))
        year = next((int(value) for field, value, _ in fields if field == YEAR), None)
        yield Row(
            number,
            record.docid,
            value_number(record.docid),
            document_vector(terms, analyzed.title_terms, known, vocabulary.header),
            None if vectors is None else vectors[number].astype(np.float32),
            f"{packed.raw}\n{packed.contents}",
            year,
            tuple(value_number(field, key) for field, key, _ in fields if field != YEAR),
            term_numbers(terms, known),
        )


def _drop_old(database: VectorDatabase, index: Path, choice: EngineChoice) -> None:
    """Drop the collections that were loaded from this index's folder and whose generations are no longer kept."""
    kept = {load_folder(index, number) for number in list_generations(index)}
    for folder in (index / LOADS).iterdir():
        if folder in kept:
            continue
        progress = folder / _progress_name(choice)
        if progress.is_file():
            collection = LoadProgress.collection_of(progress)
            if is_of_index(collection, index.name):
                database.drop(collection)
            progress.unlink()
        if not list(folder.glob("*.jsonl")):
            shutil.rmtree(folder)


def _progress_name(choice: EngineChoice) -> str:
    return f"{choice.name}-{hashlib.sha256(choice.address.encode()).hexdigest()[:12]}.jsonl"


class _Shard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    collection: str
    rows: int


class LoadProgress:
    """The file that says how many rows of a collection are stored.

    A line is on the disk after each shard, before the next shard begins.

    Attributes:
        path: The file.
        collection: The collection's name.
    """

    def __init__(self, path: Path, collection: str) -> None:
        self.path = path
        self.collection = collection

    @staticmethod
    def collection_of(path: Path) -> str:
        """Return the name of the collection in a progress file."""
        return msgspec.json.decode(path.read_bytes().split(b"\n")[0], type=_Shard).collection

    def read(self) -> int:
        """Return the number of leading rows that are stored."""
        done = 0
        lines = self.path.read_bytes().split(b"\n") if self.path.is_file() else []
        for line in lines:
            try:
                shard = msgspec.json.decode(line, type=_Shard)
            except msgspec.MsgspecError:  # the last line may be incomplete
                break
            done = shard.rows if shard.collection == self.collection else 0
        return done

    def begin(self, done: int) -> None:
        """Start the file anew with ``done`` rows."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path, self._line(done) + b"\n")

    def append(self, rows: int) -> None:
        """Note that ``rows`` rows are stored."""
        append_line(self.path, self._line(rows))

    def remove(self) -> None:
        """Delete the file."""
        self.path.unlink(missing_ok=True)

    def _line(self, rows: int) -> bytes:
        return msgspec.json.encode(_Shard(self.collection, rows))
