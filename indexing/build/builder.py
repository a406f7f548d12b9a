"""build_index(): resume, run steps, publish."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from shrag.corpora.files import DiskFull, FolderBusy, check_name, sole_writer, telling_full_disk
from shrag.corpora.ingest.add import Report
from shrag.corpora.store.manifest import CorpusManifest
from shrag.corpora.store.open_corpus import open_corpus
from shrag.corpora.store.parquet import RecordFile
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analysis.token_store import FILE as TOKEN_STORE
from shrag.indexing.analysis.user_dictionary import UserDictionary, save_dictionary
from shrag.indexing.bm25 import Bm25
from shrag.indexing.build.checkpoints import (
    BuildPlan,
    HalfBuilt,
    Phase,
    drop_half_built,
    find_half_built,
    run_phases,
    start_half_built,
)
from shrag.indexing.build.derived_steps import Choices, Derived, count_rejects, make_plan, stored_corrections
from shrag.indexing.build.inherited_options import kept_corrections, kept_dictionary, kept_encoder
from shrag.indexing.build.records_step import RecordPhase
from shrag.indexing.build.resources import Busy, check_room, disk_full, needed_bytes
from shrag.indexing.errors import IndexDamaged, IndexingError, IndexMismatch, IndexMissing, PartMissing, TooManyRejected
from shrag.indexing.glossary.store import FILE as GLOSSARY
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.storage.checksums import seal_files
from shrag.indexing.storage.generations import (
    KEPT_GENERATIONS,
    check_file,
    check_files,
    current_generation,
    current_number,
    drop_old,
    make_current,
    next_generation,
    publish,
)
from shrag.indexing.storage.manifest import FORMAT_VERSION, IndexManifest, part_versions
from shrag.indexing.storage.vector_card import canonical_encoder, kept_card, weights_beside


def make_manifest(build: HalfBuilt, source: CorpusManifest, busy: Busy) -> IndexManifest:
    """Return the manifest of what ``build`` holds, every file sealed."""
    rejected = count_rejects(build)
    return IndexManifest(
        format_version=FORMAT_VERSION,
        generation=build.generation,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        source=source,
        analyzer=build.plan.analyzer,
        bm25=build.plan.bm25,
        records=build.plan.records - rejected,
        rejected=rejected,
        busy=busy.shares(),
        files=seal_files(build.index),
        versions=build.plan.versions,
        vectors=kept_card(build.stage),
    )


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How to build, none of which changes what is built.

    ``workers`` analyse at once (0: one for each core). ``max_rejected`` records may have no analysis before the index
    is not published. ``keep`` generations are kept, the new one among them. ``report`` is told (what is being done, how
    much is done), ``tell`` whole sentences.
    """

    workers: int = 0
    max_rejected: int = 0
    keep: int = KEPT_GENERATIONS
    report: Report = lambda stage, done: None
    tell: Callable[[str], None] = lambda sentence: None


@dataclass(frozen=True, slots=True)
class _Job:
    """One build's inputs: the index's folder, the corpus, how, and what a user chose."""

    index: Path
    source: CorpusManifest
    records: Path
    plan: BuildPlan
    options: BuildOptions
    choices: Choices
    busy: Busy = field(default_factory=Busy)


def build_index(
    corpora: Path,
    indexes: Path,
    name: str,
    *,
    bm25: Bm25 | None = None,
    dictionary: UserDictionary | None = None,
    corrections: bytes | None = None,
    encoder: str | None = None,
    force: bool = False,
    options: BuildOptions | None = None,
) -> tuple[IndexManifest, bool]:
    """Index the corpus ``name`` and publish the result as the index ``name``'s next generation.

    Returns the current manifest and whether it is new: where the current index is whole and was made of the same
    records, by the same analyser, with the same parameters and encoder, there is nothing to build unless ``force`` asks
    for it. Until the new generation is whole the old one stays current. What an earlier call with the same inputs left
    half-done when it was killed is gone on with.

    A ``dictionary`` of user's words is kept in the index and used again by later builds;
    :data:`~shrag.indexing.analysis.user_dictionary.EMPTY_DICTIONARY` ends that. ``corrections`` are the user's to
    the glossary (:func:`~shrag.indexing.glossary.corrections.read_corrections`), kept likewise until others, or empty
    ones, are
    given. ``encoder`` is what makes vectors (:func:`~shrag.indexing.storage.vector_card.canonical_encoder`), ``none``
    for an index without; where it is not given, the new generation has what the current one has. Models' weights are
    looked for in the folder ``weights`` beside that of the indexes.

    Raises :class:`TooManyRejected`, :class:`~shrag.corpora.files.DiskFull`, :class:`IndexingError`,
    :class:`~shrag.models.errors.ModelError` for an encoder that cannot be had, and
    :class:`~shrag.corpora.errors.CorpusError` where the corpus cannot be read.
    """
    source, _ = open_corpus(corpora, name)
    index = indexes / check_name(name)
    parameters = bm25 or Bm25()
    chosen = None if encoder is None else canonical_encoder(encoder)
    try:
        with telling_full_disk(index), sole_writer(index):
            choices = Choices(
                words=kept_dictionary(index) if dictionary is None else dictionary,
                corrections=kept_corrections(index) if corrections is None else corrections,
                encoder=kept_encoder(index) if chosen is None else chosen,
                weights=weights_beside(indexes),
            )
            analyzer = KoreanEnglishAnalyzer(dictionary=choices.words)
            current = None if force else _up_to_date(index, source, analyzer, parameters, choices)
            if current is not None:
                drop_half_built(index)
                return current, False
            plan = make_plan(source, analyzer.fingerprint, parameters, choices, part_versions())
            records = corpora / name / source.records_file
            return _build(_Job(index, source, records, plan, options or BuildOptions(), choices)), True
    except FolderBusy as busy:
        raise IndexingError(str(busy)) from None


def _up_to_date(
    index: Path, source: CorpusManifest, analyzer: Analyzer, parameters: Bm25, choices: Choices
) -> IndexManifest | None:
    try:
        folder, manifest = current_generation(index)
        check_files(folder, manifest)
    except (IndexMissing, IndexDamaged, IndexMismatch):
        return None
    same = (
        manifest.source.fingerprint == source.fingerprint
        and manifest.analyzer == analyzer.fingerprint
        and manifest.bm25 == parameters
        and (manifest.vectors.settings if manifest.vectors else "") == choices.settings()
        and GLOSSARY in manifest.files
        and stored_corrections(folder) == choices.corrections
    )
    return manifest if same else None


def _build(job: _Job) -> IndexManifest:
    """Go on with a half-built index, or start one; publish it. Where the disk is full, nothing half-built stays."""
    need = _check_corpus(job)
    try:
        with telling_full_disk(job.index):
            return _resume(job, need) or _start(job, need)
    except DiskFull as error:
        drop_half_built(job.index)
        raise disk_full(job.index, need) from error


def _check_corpus(job: _Job) -> int:
    """Return how many bytes the build needs; raise where the corpus is not what it says."""
    with RecordFile(job.records) as file:
        if len(file) != job.plan.records:
            raise IndexingError(
                f"The corpus says {job.plan.records} records and {len(file)} are in {job.records}: "
                f"add the corpus {job.source.name} again."
            )
        return needed_bytes(file.bytes_uncompressed())


def _resume(job: _Job, need: int) -> IndexManifest | None:
    """Finish what an earlier call left half-built; None where there is nothing that can be gone on with."""
    build = find_half_built(job.index, job.plan, job.options.tell)
    if build is None:
        return None
    check_room(job.index, need - sum(path.stat().st_size for path in build.folder.rglob("*") if path.is_file()))
    try:
        with telling_full_disk(job.index):
            return _finish(job, build)
    except (TooManyRejected, PartMissing):
        raise
    except (IndexingError, sqlite3.DatabaseError) as error:
        job.options.tell(f"What was half-built cannot be gone on with, so it is built from the start: {error}")
        drop_half_built(job.index)
        return None


def _start(job: _Job, need: int) -> IndexManifest:
    check_room(job.index, need)
    return _finish(job, start_half_built(job.index, job.plan, next_generation(job.index)))


def _finish(job: _Job, build: HalfBuilt) -> IndexManifest:
    """Do whatever of the build is not done yet, and make it current."""
    before = current_number(job.index)
    if build.index.exists():
        save_dictionary(build.index, job.choices.words)
        run_phases(build, _phases(job, build))
        with job.busy.at("sealing"):
            job.options.report("sealing", job.plan.records)
            manifest = make_manifest(build, job.source, job.busy)
        publish(job.index, build.index, manifest)
    else:
        # Killed after the generation got its name and before it became current.
        manifest = make_current(job.index, build.generation)
    shutil.rmtree(build.folder)
    drop_old(job.index, manifest.generation, before, job.options.keep)
    return manifest


def _phases(job: _Job, build: HalfBuilt) -> tuple[Phase, ...]:
    """Return the phases in order."""
    records = RecordPhase(
        build,
        job.records,
        workers=job.options.workers or len(os.sched_getaffinity(0)),
        book=_earlier_book(job),
        busy=job.busy,
        report=job.options.report,
    )
    derived = Derived(build, job.records, job.choices, job.options.max_rejected, job.busy, job.options.report)
    return (Phase("records", (FOLDER,), records.run), *derived.phases())


def _earlier_book(job: _Job) -> Path | None:
    """Return the current generation's word book where this analyser made it and it is whole."""
    try:
        folder, manifest = current_generation(job.index)
        check_file(folder, manifest, TOKEN_STORE)
    except (IndexMissing, IndexDamaged, IndexMismatch):
        return None
    return folder / TOKEN_STORE if manifest.analyzer == job.plan.analyzer else None
