"""verify_index()."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from shrag.corpora.files import check_name
from shrag.corpora.ingest.reading import ProgressCallback
from shrag.indexing.errors import IndexDamaged, IndexingError, IndexMismatch
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.maintenance.checks import (
    CheckFailure,
    IndexCheck,
    IndexContents,
    check_analysis,
    check_checksums,
    check_counts,
    check_databases,
    check_golden_queries,
    check_postings,
)
from shrag.indexing.open_index import open_generation, uncached_analyzer
from shrag.indexing.storage.checksums import MANIFEST_CHECKSUM_FILE, MANIFEST_FILE
from shrag.indexing.storage.generations import (
    CURRENT_FILE,
    generation_folder,
    list_generations,
    read_current,
    read_generation,
)
from shrag.indexing.storage.manifest import IndexManifest, decode_manifest

_CONTENTS: tuple[tuple[str, Callable[[IndexContents], IndexCheck]], ...] = (
    ("records", check_counts),
    ("golden queries", check_golden_queries),
    ("analysis", check_analysis),
)
"""The checks that need an index that opens."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What was checked of which generation. ``skipped`` names the checks that damage found before made impossible."""

    index: str
    generation: int
    checks: tuple[IndexCheck, ...]
    skipped: tuple[str, ...] = ()

    @property
    def problems(self) -> tuple[CheckFailure, ...]:
        """All of them, in the order they were found."""
        return tuple(problem for check in self.checks for problem in check.problems)


def verify_index(
    indexes: Path, name: str, generation: int | None = None, report: ProgressCallback = lambda stage, done: None
) -> Verification:
    """Check one generation of ``name``, by default the current one, and go on after what is found.

    In this order: ``CURRENT`` and the manifest; every file's size and SHA-256; Lucene's CheckIndex; the SQLite files;
    that the index opens; every stored record read back; the golden queries asked again; a sample of the records
    analysed again. The last four need whole files and are skipped where damage was found before.

    Raises :class:`~shrag.indexing.errors.IndexMissing` where there is no such index or generation, ``IndexMismatch``
    where it is of a format that this SHRAG cannot read.
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
        return Verification(name, number, tuple(checks), ("opening", *(what for what, _ in _CONTENTS)))
    opening = _opening(folder, manifest)
    checks.append(opening)
    if opening.problems:
        return Verification(name, number, tuple(checks), tuple(what for what, _ in _CONTENTS))
    reader = LuceneSearcher(folder / FOLDER, manifest.bm25)
    try:
        contents = IndexContents(folder, manifest, reader, uncached_analyzer(folder), report)
        for what, look in _CONTENTS:
            report(f"checking {what}", 0)
            checks.append(_guarded(what, look, contents))
    finally:
        reader.close()
    return Verification(name, number, tuple(checks))


def _opening(folder: Path, manifest: IndexManifest) -> IndexCheck:
    try:
        open_generation(folder, manifest, verify="quick").close()
    except IndexingError as error:
        return IndexCheck("opening", 1, (CheckFailure(f"{folder.name}/{MANIFEST_FILE}", str(error)),))
    return IndexCheck("opening", 1, ())


def _guarded(what: str, look: Callable[[IndexContents], IndexCheck], contents: IndexContents) -> IndexCheck:
    """Make it a problem found where a check cannot be made: whole files can hold what nobody can read."""
    try:
        return look(contents)
    except (IndexingError, msgspec.MsgspecError, OSError) as error:
        return IndexCheck(what, 0, (CheckFailure(contents.folder.name, f"{what} cannot be checked ({error})"),))


def _find(index: Path, generation: int | None) -> tuple[int, IndexManifest | None, IndexCheck]:
    """Return the generation to look at, its manifest where that can be read, and what is wrong with the way there."""
    problems: list[CheckFailure] = []
    digest = ""
    try:
        current, digest = read_current(index)
    except IndexDamaged as damage:
        problems.append(CheckFailure(CURRENT_FILE, str(damage)))
        current = max(list_generations(index), default=0)
    number = current if generation is None else generation
    folder = generation_folder(index, number)
    manifest: IndexManifest | None = None
    if generation is None and not folder.is_dir():
        problems.append(CheckFailure(CURRENT_FILE, f"{index / CURRENT_FILE} names {folder.name}, which is not there"))
        return number, None, IndexCheck("manifest", 1, tuple(problems))
    path = folder / MANIFEST_FILE
    try:
        manifest = read_generation(index, number)
        if number == current and digest and hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            says = f"{index / CURRENT_FILE} has another digest than {path}, which is as it was published"
            problems.append(CheckFailure(CURRENT_FILE, says))
    except IndexDamaged as damage:
        # The manifest stands between two digests of it: the one that agrees with it says which of the others is wrong.
        intact = (
            number == current and path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest
        )  # an empty digest, of a damaged CURRENT, is none
        problems.append(
            CheckFailure(f"{folder.name}/{MANIFEST_CHECKSUM_FILE if intact else MANIFEST_FILE}", str(damage))
        )
        manifest = _readable(path)
    return number, manifest, IndexCheck("manifest", 3, tuple(problems))


def _readable(path: Path) -> IndexManifest | None:
    """Return a manifest whose seal is broken, to find what else is: it is believed in nothing but that."""
    try:
        return decode_manifest(path.read_bytes(), path)
    except (OSError, IndexDamaged, IndexMismatch):
        return None
