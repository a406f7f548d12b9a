"""The registry of corpus formats, each with its file patterns and its reader; finds a format's files in a folder."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from shrag.corpora.errors import CorpusError
from shrag.corpora.formats.bibtex import read_bibtex
from shrag.corpora.formats.columns import Columns
from shrag.corpora.formats.csl_json import read_csl_json
from shrag.corpora.formats.papers import read_papers
from shrag.corpora.formats.passages import read_beir, read_miracl
from shrag.corpora.formats.ris import read_ris
from shrag.corpora.formats.scienceon import read_scienceon
from shrag.corpora.formats.table import read_table
from shrag.corpora.formats.trec import read_trec
from shrag.corpora.readers.item import ParsedItem
from shrag.corpora.text.chunking import split_sentence_chunks
from shrag.messages.text import Text, joined

# The beginnings of the names of files that hold no data.
_NO_DATA = ("readme", "license", "licence", "changelog", "notice")


@dataclass(frozen=True, slots=True)
class Format:
    """A corpus format; docs/en/reference/formats.md describes the layouts.

    Attributes:
        name: Its name on the command line.
        patterns: Patterns of the names of its files, without ``.gz``.
        read: Yields the items of a file in order; raises :class:`CorpusError` if the file cannot be read to its end.
        options: The options that differ from the defaults, for the manifest.
        columns: The columns that the user named, for the format table; None for formats with fixed fields.
        chunks: Whether an item is a paper that becomes several records, ``PAPER#0``, ``PAPER#1``, ….
        reject: Why a file is rejected as a whole, if the process that looked for its format was ended by it.
    """

    name: str
    patterns: tuple[str, ...]
    read: Callable[[Path], Iterator[ParsedItem]]
    options: str = ""
    columns: Columns | None = None
    chunks: bool = False
    reject: str = ""

    @property
    def label(self) -> str:
        """The name and the options, as they are written in the manifest of a corpus."""
        return f"{self.name} {self.options}".rstrip()


def table_format(columns: Columns) -> Format:
    """Return the format of tables with the given columns."""
    return Format("table", _TABLES, partial(read_table, columns=columns), str(columns), columns)


def unread_format(reason: str) -> Format:
    """Return the format of a file whose format was not found, and which is rejected for ``reason``."""
    return Format("unknown", (), lambda path: iter(()), reject=reason)


_TABLES = ("*.csv", "*.tsv", "*.xlsx", "*.xls", "*.ods", "*.parquet", "*.jsonl", "*.json")
_PAPERS = ("*.pdf", "*.hwpx", "*.md", "*.txt", "*.jsonl", "*.json")

FORMATS: Mapping[str, Format] = {
    format.name: format
    for format in (
        Format("scienceon", ("*.jsonl", "*.json", "*.csv", "*.tsv", "*.xml"), read_scienceon),
        Format("miracl", ("docs-*.jsonl",), read_miracl),
        Format("beir", ("corpus.jsonl",), read_beir),
        table_format(Columns()),
        Format("ris", ("*.ris",), read_ris),
        Format("bibtex", ("*.bib",), read_bibtex),
        Format("csl-json", ("*.json", "*.jsonl"), read_csl_json),
        Format("trec", ("*.trec", "*.sgml", "*.sgm", "*.xml", "*.dat"), read_trec),
        Format("papers", _PAPERS, read_papers, chunks=True),
        Format("papers-sentences", _PAPERS, partial(read_papers, split=split_sentence_chunks), chunks=True),
    )
}


def find_format(name: str | Format) -> Format:
    """Return the format with this name, or a given format itself; raises :class:`CorpusError` for an unknown name."""
    if isinstance(name, Format):
        return name
    try:
        return FORMATS[name]
    except KeyError:
        raise CorpusError(
            Text("There is no format {name!r}: use one of {formats}.", name=name, formats=", ".join(FORMATS))
        ) from None


def with_columns(format: Format, columns: Columns) -> Format:
    """Return the format with the columns that the user named; raises :class:`CorpusError` if its fields are fixed."""
    if not columns.named:
        return format
    if format.columns is None:
        raise CorpusError(
            Text("--column needs --format table or no --format: the fields of {name} are fixed.", name=format.name)
        )
    return table_format(columns)


def folder_files(folder: Path) -> list[Path]:
    """Return the files of a folder that may hold records, whatever their format, in natural order."""
    return [path for path in _entries(folder) if not path.is_dir()]


def find_files(format: Format, paths: Iterable[Path]) -> list[Path]:
    """Return the files to read: each folder is replaced by its files of this format, ``docs-2`` before ``docs-10``.

    Subfolders are not searched: dumps of MIRACL and ScienceON are flat, and a link to a parent folder would never end.

    Raises:
        CorpusError: There is no file, or a file is named twice.
    """
    files: list[Path] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        found = _matching(format, path)
        if not found:
            raise CorpusError(
                Text(
                    "{path} holds no {name} file ({patterns}, .gz or not): check the folder or name the files{others}.",
                    path=path,
                    name=format.name,
                    patterns=joined(format.patterns, Text(" or ")),
                    others=_others(format, path),
                )
            )
        files.extend(found)
    return each_once(files, Text("file or folder"))


def each_once(files: list[Path], what: str) -> list[Path]:
    """Return ``files``, which messages call ``what``; raises :class:`CorpusError` if none, or one twice, is given."""
    if not files:
        raise CorpusError(Text("There is nothing to read: name at least one {files}.", files=what))
    repeated = {str(file) for file, count in Counter(files).items() if count > 1}
    if repeated:
        raise CorpusError(Text("{repeated} is named twice: each file is read once.", repeated=min(repeated)))
    return files


def _matching(format: Format, folder: Path) -> list[Path]:
    patterns = [pattern + end for pattern in format.patterns for end in ("", ".gz")]
    return [file for file in _entries(folder) if any(fnmatchcase(file.name.lower(), each) for each in patterns)]


def _entries(folder: Path) -> list[Path]:
    """Return in natural order what is in a folder and is neither hidden nor about the folder."""
    left_out = (".", *_NO_DATA)
    return sorted((path for path in folder.iterdir() if not path.name.lower().startswith(left_out)), key=_natural_order)


def _others(format: Format, folder: Path) -> str:
    # Of several formats with the same patterns, only the first is named.
    first_of = {other.patterns: other.name for other in reversed(list(FORMATS.values())) if _matching(other, folder)}
    others = [name for patterns, name in reversed(first_of.items()) if patterns != format.patterns]
    return Text("; there are files that may be {formats}", formats=joined(others, Text(" or "))) if others else ""


def _natural_order(path: Path) -> list[tuple[int, int | str]]:
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in re.split(r"(\d+)", path.name)]
