"""update_index(): index only what changed."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Literal

from shrag.corpora.files import FolderBusy, check_name, sole_writer, telling_full_disk
from shrag.corpora.ingest.ledger import Place, scratch_database
from shrag.corpora.records import Record
from shrag.corpora.store.manifest import CorpusManifest
from shrag.corpora.store.open_corpus import open_corpus
from shrag.corpora.store.parquet import RecordFile, RecordWriter, Row, record_digest
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analysis.token_store import FILE as TOKEN_STORE
from shrag.indexing.analysis.token_store import TokenStore
from shrag.indexing.analysis.user_dictionary import load_dictionary, save_dictionary
from shrag.indexing.build.builder import BuildOptions, make_manifest
from shrag.indexing.build.checkpoints import HalfBuilt, drop_half_built, run_phases, start_half_built
from shrag.indexing.build.derived_steps import Choices, Derived, make_plan, stored_corrections
from shrag.indexing.build.records_step import CACHED_WORDS, NOTES, BuildNotes
from shrag.indexing.build.resources import Busy, check_room, needed_bytes
from shrag.indexing.build.worker import Refused, Setup
from shrag.indexing.build.worker_pool import WorkerPool
from shrag.indexing.errors import IndexingError
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.searcher import LexicalReader
from shrag.indexing.lexical.writer import LexicalWriter
from shrag.indexing.open_index import check_analyzer
from shrag.indexing.storage.generations import check_files, current_generation, drop_old, next_generation, publish
from shrag.indexing.storage.manifest import IndexManifest, part_versions
from shrag.indexing.storage.vector_card import NO_ENCODER, weights_beside

Change = Literal["added", "changed", "unchanged"]


@dataclass(frozen=True, slots=True)
class Changes:
    """How many records were what."""

    added: int
    changed: int
    deleted: int
    unchanged: int

    def __str__(self) -> str:
        return f"{self.added:,} added, {self.changed:,} changed, {self.deleted:,} deleted, {self.unchanged:,} unchanged"


class IndexedDigests:
    """The records of an index by identifier and digest. A throw-away SQLite file: a crash throws it away too."""

    def __init__(self, path: Path, records: Iterable[Record]) -> None:
        self._database = scratch_database(path)
        self._database.execute("CREATE TABLE indexed (docid TEXT PRIMARY KEY, digest BLOB) WITHOUT ROWID")
        self._database.executemany(
            "INSERT INTO indexed VALUES (?, ?)", ((record.docid, record_digest(record)) for record in records)
        )

    def __enter__(self) -> IndexedDigests:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def take(self, record: Record) -> Change:
        """Say what became of a record of the corpus, and take it out: what is left at the end is deleted."""
        key = (record.docid,)
        row = self._database.execute("SELECT digest FROM indexed WHERE docid = ?", key).fetchone()
        if row is None:
            return "added"
        self._database.execute("DELETE FROM indexed WHERE docid = ?", key)
        return "unchanged" if row[0] == record_digest(record) else "changed"

    def left(self) -> Iterator[str]:
        """Yield the identifiers that were not taken out, in order."""
        return (docid for (docid,) in self._database.execute("SELECT docid FROM indexed ORDER BY docid"))


_BATCH = 10_000
_LOCK = "write.lock"
_NOWHERE = Place(0, 0, 0)  # the corpus has where a record was read; a copy of it here needs none


def update_index(
    corpora: Path, indexes: Path, name: str, *, options: BuildOptions | None = None
) -> tuple[IndexManifest, Changes | None]:
    """Publish a generation of ``name`` that holds its corpus as it is now, made from the current generation.

    Returns its manifest and what changed; where the index holds the corpus as it is already, the current manifest and
    None. The new generation finds, ranks and scores as one built from nothing does: statistics are of the records that
    are there, and ties are broken by docid. A record that could not be analysed the last time is tried again. A killed
    update is done again from its start.

    Raises :class:`~shrag.indexing.errors.IndexMissing` where there is nothing to update, ``IndexDamaged`` where it is
    not whole, ``IndexMismatch`` where another analyser made it: then only building it again helps. Else as
    :func:`~shrag.indexing.build.builder.build_index` does.
    """
    source, _ = open_corpus(corpora, name)
    index = indexes / check_name(name)
    try:
        with telling_full_disk(index), sole_writer(index):
            folder, manifest = current_generation(index)
            check_files(folder, manifest)
            choices = Choices(
                words=load_dictionary(folder),
                corrections=stored_corrections(folder),
                encoder=manifest.vectors.encoder if manifest.vectors else NO_ENCODER,
                weights=weights_beside(indexes),
            )
            check_analyzer(name, manifest, KoreanEnglishAnalyzer(dictionary=choices.words))
            if manifest.source.fingerprint == source.fingerprint:
                return manifest, None
            drop_half_built(index)
            # It writes the whole index anew, and at no time more than a build does.
            with RecordFile(corpora / name / source.records_file) as file:
                check_room(index, needed_bytes(file.bytes_uncompressed()))
            versions = part_versions() | {"updated from": folder.name}
            plan = make_plan(source, manifest.analyzer, manifest.bm25, choices, versions)
            build = start_half_built(index, plan, next_generation(index))
            save_dictionary(build.index, choices.words)
            try:
                return _Update(folder, corpora, source, build, choices, options or BuildOptions()).run()
            finally:
                shutil.rmtree(build.folder)
    except FolderBusy as busy:
        raise IndexingError(str(busy)) from None


@dataclass(frozen=True, slots=True)
class _Update:
    """One update's inputs: the generation it is made from, what that was made with, the corpus, and where."""

    old: Path
    corpora: Path
    source: CorpusManifest
    build: HalfBuilt
    choices: Choices
    options: BuildOptions
    busy: Busy = field(default_factory=Busy)

    def run(self) -> tuple[IndexManifest, Changes]:
        """Write, seal and publish the new generation."""
        lucene = self.build.index / FOLDER
        changed = self.build.stage / "changed.parquet"
        _link_files(self.old / FOLDER, lucene)
        with LexicalWriter(lucene, self.build.plan.bm25) as writer, BuildNotes(self.build.stage / NOTES) as notes:
            with self.busy.at("comparing"):
                changes = self._delete_old(writer, changed)
            with closing(TokenStore(self.old / TOKEN_STORE)) as book:
                notes.add_words(book.words())
            if changes.added or changes.changed:
                self._write_new(changes.added + changes.changed, changed, writer, notes)
            notes.commit()
            with self.busy.at("merging"):
                self.options.report("merging", self.source.records)
                # Not writer.count(): Lucene counts what is to be deleted until it merges.
                records = self.source.records - len(notes.rejects())
                about = {"corpus": self.source.fingerprint, "read": str(self.source.records), "records": str(records)}
                written = writer.commit(about)
            if written != records:
                raise IndexingError(
                    f"The updated index should hold {records} records, and would hold {written}: "
                    f"build it from nothing with `shrag index {self.source.name} --force`."
                )
        _own_files(lucene)
        file = self.corpora / self.source.name / self.source.records_file
        derived = Derived(self.build, file, self.choices, self.options.max_rejected, self.busy, self.options.report)
        run_phases(self.build, derived.phases())
        with self.busy.at("sealing"):
            manifest = make_manifest(self.build, self.source, self.busy)
        index = self.build.folder.parent
        publish(index, self.build.index, manifest)
        drop_old(index, manifest.generation, int(self.old.name.removeprefix("gen-")), self.options.keep)
        return manifest, changes

    def _delete_old(self, writer: LexicalWriter, changed: Path) -> Changes:
        """Delete what is gone or changed, and write to ``changed`` the records that are new or changed."""
        counts: Counter[str] = Counter()
        reader = LexicalReader(self.old / FOLDER, self.build.plan.bm25)
        try:
            stored = (found.record for found in reader.documents(range(reader.count())))
            indexed = IndexedDigests(self.build.stage / "digests", stored)
        finally:
            reader.close()
        _, records = open_corpus(self.corpora, self.source.name)
        with indexed, RecordWriter(changed) as file:
            for done, record in enumerate(records, 1):
                change = indexed.take(record)
                counts[change] += 1
                if change == "changed":
                    writer.delete(record.docid)
                if change != "unchanged":
                    file.write(Row(record, record_digest(record), _NOWHERE))
                if done % _BATCH == 0:
                    self.options.report("records compared", done)
            for docid in indexed.left():
                writer.delete(docid)
                counts["deleted"] += 1
        return Changes(counts["added"], counts["changed"], counts["deleted"], counts["unchanged"])

    def _write_new(self, count: int, changed: Path, writer: LexicalWriter, notes: BuildNotes) -> None:
        """Analyse the records of ``changed`` and add them."""
        workers = min(self.options.workers or len(os.sched_getaffinity(0)), count)
        done = 0
        with WorkerPool(workers, Setup(str(self.old / TOKEN_STORE), CACHED_WORDS // workers, str(self.old))) as pool:
            for frame in pool.analyse(changed, 0, count):
                for number, record in enumerate(frame.records, done):
                    if isinstance(record, Refused):
                        notes.reject(number, record.docid or _docid(changed, number), record.reason)
                    else:
                        writer.add_packed(record)
                notes.add_words(frame.words)
                self.busy.add("analysis", frame.analysis_seconds, workers)
                done += len(frame.records)
                self.options.report("records indexed", done)


def _docid(changed: Path, number: int) -> str:
    with RecordFile(changed) as file:
        return next(file.read(number, 1)).docid


def _link_files(old: Path, new: Path) -> None:
    """Give the files a second name where the file system can, else a copy: Lucene writes each of its files once."""
    new.mkdir()
    for path in sorted(old.iterdir()):
        if path.name == _LOCK:  # the one that is opened for writing
            continue
        try:
            os.link(path, new / path.name)
        except OSError:
            shutil.copyfile(path, new / path.name)


def _own_files(folder: Path) -> None:
    """Copy what is still shared: damage to a file of one generation must not be damage to another."""
    for path in sorted(folder.iterdir()):
        if path.stat().st_nlink > 1:
            copy = path.with_name(f"{path.name}.copy")
            shutil.copyfile(path, copy)
            copy.replace(path)
