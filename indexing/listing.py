"""What generations an index has, for people: nothing here opens one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shrag.corpora.names import check_name
from shrag.indexing.errors import IndexDamaged, IndexMismatch
from shrag.indexing.generations import current_generation, list_generations, read_current, read_generation
from shrag.indexing.manifest import encode_manifest


@dataclass(frozen=True, slots=True)
class Row:
    """One generation; where ``problem`` is not empty its manifest cannot be read and the figures are 0."""

    index: str
    generation: int
    current: bool
    created: str
    records: int
    bytes: int
    problem: str


def list_names(indexes: Path) -> list[str]:
    """Return the names of the indexes that have a generation."""
    return sorted(path.name for path in indexes.glob("*") if list_generations(path))


def list_index(indexes: Path, name: str) -> list[Row]:
    """Return the generations of ``name``, the oldest first; raises ``IndexMissing`` where there is none."""
    index = indexes / check_name(name)
    try:
        current = read_current(index)[0]
    except IndexDamaged:
        current = 0
    return [_row(index, number, current) for number in list_generations(index)]


def show_manifest(indexes: Path, name: str, generation: int | None = None) -> str:
    """Return the manifest of a generation, by default the current one, as it is written; raises as reading it does."""
    index = indexes / check_name(name)
    manifest = current_generation(index)[1] if generation is None else read_generation(index, generation)
    return encode_manifest(manifest).decode()


def _row(index: Path, number: int, current: int) -> Row:
    try:
        manifest = read_generation(index, number)
    except (IndexDamaged, IndexMismatch) as problem:
        return Row(index.name, number, number == current, "", 0, 0, str(problem))
    size = sum(seal.bytes for seal in manifest.files.values())
    return Row(index.name, number, number == current, manifest.created, manifest.records, size, "")
