"""Update an index from its current generation: only records that were added or changed are analyzed again."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Literal

from shrag.corpora.files import FolderBusy, disk_errors, lock_folder
from shrag.corpora.ingest.ledger import ScratchDatabase
from shrag.corpora.records import Record, RecordChanges
from shrag.corpora.store.open_corpus import hold_corpus
from shrag.corpora.store.parquet import RecordFile, RecordWriter, read_rows, record_digest
from shrag.indexing.analysis.korean_english import analyzer_fingerprint
from shrag.indexing.analysis.token_store import FILE as TOKEN_STORE
from shrag.indexing.analysis.token_store import TokenStore
from shrag.indexing.analysis.user_dictionary import load_dictionary, save_dictionary
from shrag.indexing.build.builder import component_versions, publish_build
from shrag.indexing.build.checkpoints import (
    check_disk_space,
    drop_workspaces,
    required_bytes,
    start_workspace,
)
from shrag.indexing.build.derived_steps import derived_steps
from shrag.indexing.build.job import BuildJob, BuildOptions, IndexChoices, make_plan
from shrag.indexing.build.records_step import CACHED_WORDS, NOTES, BatchWriter, BuildNotes
from shrag.indexing.build.worker import WorkerSetup
from shrag.indexing.build.worker_pool import WorkerPool
from shrag.indexing.errors import IndexingError
from shrag.indexing.glossary.corrections import stored_corrections
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.lexical.writer import LuceneIndexWriter
from shrag.indexing.open_index import check_analyzer
from shrag.indexing.storage.generations import check_files, current_generation, next_generation, remove_folder
from shrag.indexing.storage.manifest import IndexManifest
from shrag.indexing.storage.vector_card import encoder_of, weights_folder
from shrag.messages.text import Text, message_of

Change = Literal["added", "changed", "unchanged"]

_BATCH = 10_000
_LOCK = "write.lock"


class IndexedDigests(ScratchDatabase):
    """Digests of the records of an index by docid, in a temporary SQLite file."""

    def __init__(self, path: Path, records: Iterable[Record]) -> None:
        super().__init__(path, "indexed (docid TEXT PRIMARY KEY, digest BLOB) WITHOUT ROWID")
        self._database.executemany(
            "INSERT INTO indexed VALUES (?, ?)", ((record.docid, record_digest(record)) for record in records)
        )

    def take(self, docid: str, digest: bytes) -> Change:
        """Return how a record of the corpus changed, and remove its digest.

        The docids that are left at the end were deleted from the corpus.
        """
        row = self._database.execute("SELECT digest FROM indexed WHERE docid = ?", (docid,)).fetchone()
        if row is None:
            return "added"
        self._database.execute("DELETE FROM indexed WHERE docid = ?", (docid,))
        return "unchanged" if row[0] == digest else "changed"

    def left(self) -> Iterator[str]:
        """Yield the docids that are left, sorted."""
        return (docid for (docid,) in self._database.execute("SELECT docid FROM indexed ORDER BY docid"))


def update_index(
    corpora: Path, indexes: Path, name: str, *, options: BuildOptions | None = None
) -> tuple[IndexManifest, RecordChanges | None]:
    """Update the index ``name`` to its corpus's current records, and publish the result as the next generation.

    The new generation ranks and scores like one that is built from nothing: its statistics are those of the current
    records, and ties are broken by docid. Rejected records are tried again. A killed update is not resumed: the next
    one starts from the beginning.

    Returns:
        The new manifest and the changes, or the current manifest and None if the index is up to date.

    Raises:
        IndexMissing: There is no index to update.
        IndexDamaged: The current generation is damaged.
        IndexMismatch: It was built by another analyzer.
        IndexingError: As :func:`~shrag.indexing.build.builder.build_index`, whose other errors are raised too.
    """
    index = indexes / name
    try:
        with hold_corpus(corpora, name) as source, disk_errors(index), lock_folder(index):
            folder, manifest = current_generation(index)
            check_files(folder, manifest)
            choices = IndexChoices(
                dictionary=load_dictionary(folder),
                corrections=stored_corrections(folder),
                encoder=encoder_of(manifest.vectors, weights_folder(indexes)),
                weights=weights_folder(indexes),
            )
            check_analyzer(name, manifest, analyzer_fingerprint(choices.dictionary))
            drop_workspaces(index)
            if manifest.source.fingerprint == source.fingerprint:
                return manifest, None
            records = corpora / name / source.records_file
            # An update writes the whole index, so it needs as much space as a build.
            with RecordFile(records) as file:
                check_disk_space(index, required_bytes(file.bytes_uncompressed()))
            versions = component_versions() | {"updated from": folder.name}
            plan = make_plan(source, manifest.analyzer, manifest.bm25, choices, versions)
            build = start_workspace(index, plan, next_generation(index))
            save_dictionary(build.index, choices.dictionary)
            try:
                # The documents are no longer in the corpus's order, which the workers of a cluster rely on.
                alone = replace(options or BuildOptions(), ray="")
                job = BuildJob(build, source, records, choices, alone)
                changes = _update_records(job, folder)
                return publish_build(job, derived_steps(job), manifest.generation), changes
            finally:
                remove_folder(build.folder)
    except FolderBusy as busy:
        raise IndexingError(message_of(busy)) from None


def _update_records(job: BuildJob, old: Path) -> RecordChanges:
    """Write the Lucene index and the notes of the new generation from those of the ``old`` one."""
    build, source = job.workspace, job.source
    lucene, changed = build.index / FOLDER, build.stage / "changed.parquet"
    _link_files(old / FOLDER, lucene)
    with LuceneIndexWriter(lucene, build.plan.bm25) as writer, BuildNotes(build.stage / NOTES) as notes:
        with job.utilization.measure("comparing"):
            changes = _delete_old(job, old, writer, changed)
        with closing(TokenStore(old / TOKEN_STORE)) as store:
            notes.add_words(store.words())
        if new := changes.added + changes.changed:
            batches = BatchWriter(job, changed, writer, notes)
            setup = WorkerSetup(str(old / TOKEN_STORE), CACHED_WORDS // job.workers, str(old))
            with WorkerPool(job.workers, setup) as pool:
                for batch in pool.analyze(changed, 0, new):
                    batches.write(batch)
        notes.commit()
        with job.utilization.measure("merging"):
            job.options.report("merging", source.records)
            # Not writer.count(), which includes deleted documents until the merge.
            records = source.records - len(notes.rejects())
            data = {"corpus": source.fingerprint, "processed": str(source.records), "records": str(records)}
            written = writer.commit(data)
        if written != records:
            raise IndexingError(
                Text(
                    "The updated index has {written} records instead of {records}: build it from nothing with "
                    "`shrag index {name} --force`.",
                    written=written,
                    records=records,
                    name=source.name,
                )
            )
    _own_files(lucene)
    return changes


def _delete_old(job: BuildJob, old: Path, writer: LuceneIndexWriter, changed: Path) -> RecordChanges:
    """Delete the removed and changed records from Lucene; write the new and changed ones to the file ``changed``."""
    counts: Counter[str] = Counter()
    with closing(LuceneSearcher(old / FOLDER, job.workspace.plan.bm25)) as reader:
        stored = (found.record for found in reader.documents(range(reader.count())))
        indexed = IndexedDigests(job.workspace.stage / "digests", stored)
    with indexed, RecordWriter(changed) as file:
        for done, row in enumerate(read_rows(job.records), 1):
            change = indexed.take(row.record.docid, row.digest)
            counts[change] += 1
            if change == "changed":
                writer.delete(row.record.docid)
            if change != "unchanged":
                file.write(row)
            if done % _BATCH == 0:
                job.options.report("records compared", done)
        for docid in indexed.left():
            writer.delete(docid)
            counts["deleted"] += 1
    return RecordChanges(counts["added"], counts["changed"], counts["deleted"], counts["unchanged"])


def _link_files(old: Path, new: Path) -> None:
    """Hard-link the files, or copy them if that fails. Links are safe because Lucene writes each of its files once."""
    new.mkdir()
    for path in sorted(old.iterdir()):
        if path.name == _LOCK:  # the only file that is opened for writing again
            continue
        try:
            os.link(path, new / path.name)
        except OSError:
            shutil.copyfile(path, new / path.name)


def _own_files(folder: Path) -> None:
    """Replace hard links by copies, so that damage to a file affects one generation only."""
    for path in sorted(folder.iterdir()):
        if path.stat().st_nlink > 1:
            copy = path.with_name(f"{path.name}.copy")
            shutil.copyfile(path, copy)
            copy.replace(path)
