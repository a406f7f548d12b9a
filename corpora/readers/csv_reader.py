"""Read CSV files with a header, row by row."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from shrag.corpora.errors import CorpusError
from shrag.corpora.readers.item import SourceItem, row_fields
from shrag.corpora.readers.source import LONGEST_LINE, SourceLine, read_lines
from shrag.messages.text import Text

_DELIMITERS = ",\t;"
_OPEN_QUOTE = "unexpected end of data"


def read_csv(path: Path) -> Iterator[SourceItem]:
    """Yield the rows as fields by :func:`~shrag.corpora.readers.item.row_fields`; only one row is in memory at a time.

    The delimiter is the most frequent of comma, tab and semicolon in the header. The fields of an item are the reason
    of a reject if its row is not UTF-8 or has more or fewer cells than the header. They are None for a blank row.

    Raises:
        CorpusError: As :func:`~shrag.corpora.readers.source.open_source`. Also if the first line cannot be parsed or
            names a column twice, a row is longer than ``LONGEST_LINE`` bytes, or a quotation mark is never closed, so
            that later rows cannot be found.
    """
    csv.field_size_limit(LONGEST_LINE + 1)  # this applies to the whole process, in which nothing else reads CSV
    lines = _RowLines(path)
    header, delimiter = _header(path, next(lines, ""))
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    count = 0
    while True:
        lines.begin()
        fields: dict[str, object] | str | None
        count += 1
        try:
            fields = _fields(header, next(rows), count)
        except StopIteration:
            return
        except csv.Error as error:
            if _OPEN_QUOTE in str(error):
                raise CorpusError(
                    Text(
                        "{path} line {number}: a quotation mark in this row is never closed, so that the rest "
                        "of the file cannot be split into rows: close it and add the file again.",
                        path=path,
                        number=lines.number,
                    )
                ) from None
            fields = Text("row {count}: {error}", count=count, error=error)
        yield SourceItem(lines.number, lines.offset, fields)


def column_names(head: bytes) -> list[str]:
    """Return the names of columns in ``head``, the first bytes of a CSV file, which must hold its whole first line.

    This is for guessing a format. Unlike :func:`read_csv`, it splits a quoted name at a delimiter inside it.
    """
    first = head.split(b"\n", 1)[0].decode("utf-8", "replace").rstrip()
    delimiter = max(_DELIMITERS, key=first.count)
    return [name.strip().strip('"') for name in first.split(delimiter)]


def _header(path: Path, line: str) -> tuple[list[str], str]:
    delimiter = max(_DELIMITERS, key=line.count)
    try:
        header = [name.strip() for name in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error as error:
        raise CorpusError(
            Text(
                "{path} line 1 is not the header of a table ({error}): export it with a line for each row.",
                path=path,
                error=error,
            )
        ) from None
    duplicates = [name for name, count in Counter(filter(None, header)).items() if count > 1]
    if duplicates:
        raise CorpusError(
            Text(
                "{path} line 1 has more than one column {duplicates!r}: rename or delete the others and add "
                "the file again.",
                path=path,
                duplicates=duplicates[0],
            )
        )
    return header, delimiter


def _fields(header: Sequence[str], cells: list[str], count: int) -> dict[str, object] | str | None:
    if not any(cell.strip() for cell in cells):
        return None
    if len(cells) != len(header):
        return Text(
            "row {count}: {cells} cells, the header has {header}", count=count, cells=len(cells), header=len(header)
        )
    if any("\udc80" <= character <= "\udcff" for cell in cells if not cell.isascii() for character in cell):
        return Text("row {count}: neither UTF-8 nor CP949", count=count)
    return row_fields(header, cells)


class _RowLines:
    """Decoded lines for the CSV reader, with the position where the current row begins."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = read_lines(path)
        self._fresh = True
        self._size = 0
        self.number = self.offset = 0

    def begin(self) -> None:
        """Start a new row with the next line."""
        self._fresh = True

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line: SourceLine = next(self._lines)
        if self._fresh:
            self._fresh = False
            self._size = 0
            self.number, self.offset = line.number, line.offset
        self._size += LONGEST_LINE if line.data is None else len(line.data) + 1
        if line.data is None or self._size > LONGEST_LINE:
            raise CorpusError(
                Text(
                    "{path} line {number}: this row is longer than {longest_line} bytes, so that a quotation "
                    "mark in it may never be closed: correct it and add the file again.",
                    path=self._path,
                    number=self.number,
                    longest_line=LONGEST_LINE,
                )
            )
        # Bytes that are not UTF-8 become lone surrogates, so only their row is rejected.
        return line.data.decode("utf-8", "surrogateescape") + "\n"
