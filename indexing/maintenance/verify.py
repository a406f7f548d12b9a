"""Verify a generation of an index: files, Lucene, SQLite, records, golden queries and analysis."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import msgspec

from shrag.corpora.files import check_name
from shrag.corpora.ingest.reading import ProgressCallback
from shrag.indexing.errors import IndexDamaged, IndexingError, IndexMismatch
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.maintenance.checks import (
    IndexCheck,
    IndexContents,
    check_analysis,
    check_checksums,
    check_counts,
    check_databases,
    check_faiss,
    check_golden_queries,
    check_postings,
)
from shrag.indexing.open_index import open_generation, uncached_analyzer
from shrag.indexing.storage.checksums import MANIFEST_CHECKSUM_FILE, MANIFEST_FILE, FileDamage
from shrag.indexing.storage.generations import (
    CURRENT_FILE,
    generation_folder,
    list_generations,
    read_current,
    read_generation,
)
from shrag.indexing.storage.manifest import IndexManifest, decode_manifest
from shrag.messages.text import Text, message_of

_CONTENTS: tuple[tuple[str, Callable[[IndexContents], IndexCheck]], ...] = (
    ("records", check_counts),
    ("golden queries", check_golden_queries),
    ("analysis", check_analysis),
)
"""The checks that need an open index."""


@dataclass(frozen=True, slots=True)
class Verification:
    """The checks of a generation. ``skipped`` names the checks that damage made impossible."""

    index: str
    generation: int
    checks: tuple[IndexCheck, ...]
    skipped: tuple[str, ...] = ()

    @property
    def problems(self) -> tuple[FileDamage, ...]:
        """The problems of all checks in order."""
        return tuple(problem for check in self.checks for problem in check.problems)


def verify_index(
    indexes: Path, name: str, generation: int | None = None, report: ProgressCallback = lambda stage, done: None
) -> Verification:
    """Run all checks of a generation, even if some of them find problems.

    The order is: ``CURRENT`` and the manifest; size and SHA-256 of every file; Lucene's CheckIndex; SQLite's integrity
    check; opening the index; the FAISS index; every stored record; the golden queries; the analysis of a sample of
    records. The last five need intact files, and the last three need an index that can be opened.

    Args:
        indexes: The folder of all indexes.
        name: The index.
        generation: The generation, None for the current one.
        report: Called with the progress.

    Raises:
        IndexMissing: There is no such index or generation.
        IndexMismatch: It has another format.
    """
    index = indexes / check_name(name)
    number, manifest, first = _find(index, generation)
    folder = generation_folder(index, number)
    checks = [first]
    if manifest is not None:
        report("hashing files", 0)
        checks.append(check_checksums(folder, manifest))
    if folder.is_dir():
        report("running CheckIndex", 0)
        checks.extend((check_postings(folder), check_databases(folder)))
    if manifest is None or any(check.problems for check in checks):
        return Verification(name, number, tuple(checks), ("opening", "FAISS", *(what for what, _ in _CONTENTS)))
    opening = _opening(folder, manifest)
    checks.append(opening)
    report("checking vectors", 0)
    checks.append(check_faiss(folder, manifest))
    if opening.problems:
        return Verification(name, number, tuple(checks), tuple(what for what, _ in _CONTENTS))
    with closing(LuceneSearcher(folder / FOLDER, manifest.bm25)) as reader:
        contents = IndexContents(folder, manifest, reader, uncached_analyzer(folder), report)
        for what, check in _CONTENTS:
            report(f"checking {what}", 0)
            checks.append(_run(what, check, contents))
    return Verification(name, number, tuple(checks))


def _opening(folder: Path, manifest: IndexManifest) -> IndexCheck:
    try:
        open_generation(folder, manifest, verify=None).close()
    except IndexingError as error:
        return IndexCheck("opening", 1, (FileDamage(f"{folder.name}/{MANIFEST_FILE}", message_of(error)),))
    return IndexCheck("opening", 1, ())


def _run(what: str, check: Callable[[IndexContents], IndexCheck], contents: IndexContents) -> IndexCheck:
    """Run a check; an error is a problem too, since intact files may have unreadable content."""
    try:
        return check(contents)
    except (IndexingError, msgspec.MsgspecError, OSError) as error:
        return IndexCheck(
            what,
            0,
            (FileDamage(contents.folder.name, Text("{check} cannot be checked ({error})", check=what, error=error)),),
        )


def _find(index: Path, generation: int | None) -> tuple[int, IndexManifest | None, IndexCheck]:
    """Return the generation's number, its manifest if it can be read, and the check of ``CURRENT`` and manifest."""
    problems: list[FileDamage] = []
    digest = ""
    try:
        current, digest = read_current(index)
    except IndexDamaged as damage:
        problems.append(FileDamage(CURRENT_FILE, message_of(damage)))
        current = max(list_generations(index), default=0)
    number = current if generation is None else generation
    folder = generation_folder(index, number)
    manifest: IndexManifest | None = None
    if generation is None and not folder.is_dir():
        missing = Text("{current} names {folder}, which is not there", current=index / CURRENT_FILE, folder=folder.name)
        problems.append(FileDamage(CURRENT_FILE, missing))
        return number, None, IndexCheck("manifest", 1, tuple(problems))
    path = folder / MANIFEST_FILE
    try:
        manifest = read_generation(index, number)
        if number == current and digest and hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            message = Text(
                "{current} has another digest than {path}, which is as it was published",
                current=index / CURRENT_FILE,
                path=path,
            )
            problems.append(FileDamage(CURRENT_FILE, message))
    except IndexDamaged as damage:
        # There are two digests of the manifest. If one of them fits, the other one is wrong; else the manifest is.
        intact = (
            number == current and path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest
        )  # a damaged CURRENT has an empty digest, which never fits
        problems.append(
            FileDamage(f"{folder.name}/{MANIFEST_CHECKSUM_FILE if intact else MANIFEST_FILE}", message_of(damage))
        )
        manifest = _readable(path)
    return number, manifest, IndexCheck("manifest", 3, tuple(problems))


def _readable(path: Path) -> IndexManifest | None:
    """Return a manifest with a wrong checksum, to find further damage."""
    try:
        return decode_manifest(path.read_bytes(), path)
    except (OSError, IndexDamaged, IndexMismatch):
        return None
