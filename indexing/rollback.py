"""Going back to an earlier generation, or forward again: another whole one is made current by one rename."""

from __future__ import annotations

from pathlib import Path

from shrag.corpora.durable import FolderBusy, sole_writer, telling_full_disk
from shrag.corpora.names import check_name
from shrag.indexing.errors import IndexDamaged, IndexingError, IndexMismatch, IndexMissing
from shrag.indexing.generations import (
    check_files,
    generation_folder,
    list_generations,
    make_current,
    read_current,
    read_generation,
)
from shrag.indexing.korean import KoreanEnglishAnalyzer
from shrag.indexing.manifest import IndexManifest
from shrag.indexing.opening import check_analyzer
from shrag.indexing.user_dictionary import stored_dictionary


def roll_back(indexes: Path, name: str, to: int | None = None) -> IndexManifest:
    """Make generation ``to`` of ``name`` current, by default the newest whole one before it; return its manifest.

    Every byte of it is checked first. Nothing is removed: the way forward again is the same call. Raises
    :class:`IndexMissing` where there is no such generation, :class:`IndexDamaged` and ``IndexMismatch`` where it could
    not be opened; what was current then stays so.
    """
    index = indexes / check_name(name)
    if not list_generations(index):
        read_current(index)  # says what there is instead
    try:
        with telling_full_disk(index), sole_writer(index):
            number, manifest = _newest_before(index) if to is None else (to, _checked(index, to))
            make_current(index, number)
            return manifest
    except FolderBusy as busy:
        raise IndexingError(str(busy)) from None


def _newest_before(index: Path) -> tuple[int, IndexManifest]:
    """Return the newest whole generation before the current one; before none, where ``CURRENT`` is not readable."""
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
            problems.append(str(problem))
    there = ", ".join(map(str, numbers))
    raise IndexMissing(
        " ".join(problems)
        or f"Index {index.name} has no generation before {current} (there is {there}): choose one with --to."
    )


def _checked(index: Path, number: int) -> IndexManifest:
    manifest = read_generation(index, number)
    folder = generation_folder(index, number)
    check_files(folder, manifest)
    check_analyzer(index.name, manifest, KoreanEnglishAnalyzer(dictionary=stored_dictionary(folder)))
    return manifest
