"""The formats a corpus can be read from: which files of a folder belong to it, and how a line becomes a record."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from shrag.corpora.errors import CorpusError
from shrag.corpora.miracl import parse_miracl
from shrag.corpora.records import Record
from shrag.corpora.scienceon import parse_scienceon


@dataclass(frozen=True, slots=True)
class Format:
    """``patterns`` select a folder's files; ``parse`` raises :class:`RejectedLine` with the reason."""

    name: str
    patterns: tuple[str, ...]
    parse: Callable[[Mapping[str, object]], Record]


FORMATS: Mapping[str, Format] = {
    "scienceon": Format("scienceon", ("*.jsonl", "*.jsonl.gz"), parse_scienceon),
    "miracl": Format("miracl", ("docs-*.jsonl", "docs-*.jsonl.gz"), parse_miracl),
}


def find_format(name: str) -> Format:
    """Return the format called ``name``; raises :class:`CorpusError` naming those there are."""
    try:
        return FORMATS[name]
    except KeyError:
        raise CorpusError(f"There is no format {name!r}: use one of {', '.join(FORMATS)}.") from None


def find_files(format: Format, paths: Iterable[Path]) -> list[Path]:
    """Return the files to read, folders replaced by their files of this format, docs-2 before docs-10.

    Folders are not searched deeper: MIRACL and ScienceON dumps are flat, and a link to a parent could not end.
    """
    files: list[Path] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        found = sorted({file for pattern in format.patterns for file in path.glob(pattern)}, key=_natural_order)
        if not found:
            patterns = " or ".join(format.patterns)
            raise CorpusError(f"{path} holds no {format.name} file ({patterns}): check the folder or name the files.")
        files.extend(found)
    if not files:
        raise CorpusError("There is nothing to read: name at least one file or folder.")
    repeated = {str(file) for file in files if files.count(file) > 1}
    if repeated:
        raise CorpusError(f"{min(repeated)} is named twice: each file is read once.")
    return files


def _natural_order(path: Path) -> list[tuple[int, int | str]]:
    return [(0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", path.name)]
