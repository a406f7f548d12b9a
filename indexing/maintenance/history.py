"""List the generations of an index, show a manifest, roll back to an earlier generation, remove an index."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from shrag.corpora.files import FolderBusy, check_name, disk_errors, lock_folder, remove_folder, sole_user
from shrag.indexing.analysis.korean_english import analyzer_fingerprint
from shrag.indexing.analysis.user_dictionary import load_dictionary
from shrag.indexing.distributed.database import alias_name, collection_name, open_database
from shrag.indexing.distributed.opening import check_loaded
from shrag.indexing.errors import IndexDamaged, IndexingError, IndexMismatch, IndexMissing
from shrag.indexing.open_index import check_analyzer
from shrag.indexing.search_engine import LUCENE, EngineChoice
from shrag.indexing.storage.generations import (
    CURRENT_FILE,
    check_files,
    current_generation,
    generation_folder,
    list_generations,
    read_current,
    read_generation,
    set_current,
)
from shrag.indexing.storage.manifest import IndexManifest, encode_manifest
from shrag.messages.text import Text, joined, message_of


def roll_back(indexes: Path, name: str, to: int | None = None, engine: EngineChoice = LUCENE) -> IndexManifest:
    """Make another generation of ``name`` the current one and return its manifest. Nothing is deleted.

    Args:
        indexes: The folder of all indexes.
        name: The index.
        to: The generation, None for the newest intact one before the current one.
        engine: If it is a vector database, the generation must be loaded there, and is published there too.

    Raises:
        IndexMissing: There is no such generation.
        IndexDamaged: A file of the generation does not match its checksum.
        IndexMismatch: The generation has another format or analyzer, or is not loaded.
        IndexingError: The vector database does not answer.
    """
    index = indexes / check_name(name)
    if not list_generations(index):
        read_current(index)  # raises with the names of other indexes
    try:
        with disk_errors(index), lock_folder(index):
            number, manifest = _newest_before(index) if to is None else (to, _checked(index, to))
            if not engine.is_distributed:
                set_current(index, number)
                return manifest
            with closing(open_database(engine)) as database:
                check_loaded(database, name, manifest, engine)
                set_current(index, number)
                database.point(alias_name(name), collection_name(name, manifest))
            return manifest
    except FolderBusy as busy:
        raise IndexingError(message_of(busy)) from None


def remove_index(indexes: Path, name: str) -> None:
    """Delete an index with all of its generations; the corpus stays.

    Raises:
        IndexMissing: There is no index of the name.
        IndexingError: A build writes it, or a server or another command has it open.
    """
    index = indexes / check_name(name)
    if not list_generations(index):
        read_current(index)  # raises with the names of other indexes
    try:
        with disk_errors(index), lock_folder(index), ExitStack() as held:
            for number in list_generations(index):
                if not held.enter_context(sole_user(generation_folder(index, number))):
                    raise IndexingError(
                        Text(
                            "Index {name} is open in a server or another command (generation {number}): stop it first.",
                            name=name,
                            number=number,
                        )
                    )
            remove_folder(index, CURRENT_FILE)
    except FolderBusy as busy:
        raise IndexingError(message_of(busy)) from None


def _newest_before(index: Path) -> tuple[int, IndexManifest]:
    """Return the newest intact generation before the current one, or the newest of all if ``CURRENT`` is damaged."""
    numbers = list_generations(index)
    try:
        current = read_current(index)[0]
    except IndexDamaged:
        current = numbers[-1] + 1
    problems = []
    for number in reversed([number for number in numbers if number < current]):
        try:
            return number, _checked(index, number)
        except (IndexDamaged, IndexMismatch) as problem:
            problems.append(message_of(problem))
    existing = ", ".join(map(str, numbers))
    if problems:
        raise IndexMissing(joined(problems, " "))
    raise IndexMissing(
        Text(
            "Index {name} has no generation before {current} (existing generations: {existing}): choose one with --to.",
            name=index.name,
            current=current,
            existing=existing,
        )
    )


def _checked(index: Path, number: int) -> IndexManifest:
    manifest = read_generation(index, number)
    folder = generation_folder(index, number)
    check_files(folder, manifest)
    check_analyzer(index.name, manifest, analyzer_fingerprint(load_dictionary(folder)))
    return manifest


@dataclass(frozen=True, slots=True)
class GenerationInfo:
    """A generation. If its manifest cannot be read, ``problem`` says why and the figures are 0."""

    index: str
    generation: int
    current: bool
    created: str
    records: int
    bytes: int
    problem: str


def list_names(indexes: Path) -> list[str]:
    """Return the names of all indexes that have a generation, sorted."""
    return sorted(path.name for path in indexes.glob("*") if list_generations(path))


def list_index(indexes: Path, name: str) -> list[GenerationInfo]:
    """Return the generations of ``name``, oldest first; raises :class:`IndexMissing` if there is none."""
    index = indexes / check_name(name)
    try:
        current = read_current(index)[0]
    except IndexDamaged:
        current = 0
    return [_row(index, number, current) for number in list_generations(index)]


def show_manifest(indexes: Path, name: str, generation: int | None = None) -> str:
    """Return the manifest file of a generation, None for the current one; raises as :func:`current_generation`."""
    index = indexes / check_name(name)
    manifest = current_generation(index)[1] if generation is None else read_generation(index, generation)
    return encode_manifest(manifest).decode()


def _row(index: Path, number: int, current: int) -> GenerationInfo:
    try:
        manifest = read_generation(index, number)
    except (IndexDamaged, IndexMismatch) as problem:
        return GenerationInfo(index.name, number, number == current, "", 0, 0, message_of(problem))
    size = sum(file.bytes for file in manifest.files.values())
    return GenerationInfo(index.name, number, number == current, manifest.created, manifest.records, size, "")
