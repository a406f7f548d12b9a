"""Read the rows of spreadsheets (XLSX, XLS, ODS); the only module that imports python_calamine."""

from __future__ import annotations

import datetime
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from shrag.corpora.errors import CorpusError, RejectedLine
from shrag.corpora.readers.item import SourceItem, row_fields
from shrag.corpora.readers.source import read_bytes
from shrag.corpora.readers.zip_archive import ZIP_MAGIC, open_zip
from shrag.messages.text import Text

OLE_MAGIC = b"\xd0\xcf\x11\xe0"
LARGEST_SPREADSHEET = 256 * 2**20
"""The largest accepted file in bytes; a file is read into memory as a whole."""

_HEADER_WITHIN = 10

_Cell = int | float | str | bool | datetime.time | datetime.date | datetime.datetime | datetime.timedelta


class Spreadsheet(NamedTuple):
    """The rows of a spreadsheet's first sheet that is not empty, and the names of the sheets after it."""

    items: Iterator[SourceItem]
    unread: tuple[str, ...]


def read_spreadsheet(path: Path, score: Callable[[list[str]], int]) -> Spreadsheet:
    """Read the first sheet that is not empty.

    Its rows are fields by :func:`~shrag.corpora.readers.item.row_fields`; their offset is 0.

    Args:
        path: The file.
        score: Returns how many cells of a row are names of fields. The row with the highest score among the first ten
            is the header, so a caption may stand above it; of equal rows the first is taken.

    Raises:
        CorpusError: The file cannot be read, it has no row, or its header names a column twice.
    """
    rows, unread = _rows(path)
    found = [[_text(cell) for cell in row] for row in rows[:_HEADER_WITHIN]]
    if not found:
        raise CorpusError(Text("{path} has no rows: its sheets are empty.", path=path))
    at = max(range(len(found)), key=lambda number: (score(found[number]), any(found[number]), -number))
    header = found[at]
    names = [name for name in header if name]
    if len(set(names)) < len(names):
        again = next(name for name in names if names.count(name) > 1)
        raise CorpusError(
            Text(
                "{path} row {row} has more than one column {column!r}: rename or delete the others.",
                path=path,
                row=at + 1,
                column=again,
            )
        )
    return Spreadsheet(_items(header, rows, at + 1), unread)


def _items(header: list[str], rows: list[list[_Cell]], first: int) -> Iterator[SourceItem]:
    for number, row in enumerate(rows[first:], first + 1):
        fields = row_fields(header, map(_text, row))
        yield SourceItem(number, 0, fields if any(fields.values()) else None)


def _rows(path: Path) -> tuple[list[list[_Cell]], tuple[str, ...]]:
    """Return the rows of the first sheet that is not empty, all of one length, and the names of the sheets after it."""
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        data = read_bytes(path, LARGEST_SPREADSHEET)
        if data.startswith(ZIP_MAGIC):
            open_zip(data).close()
        with CalamineWorkbook.from_filelike(io.BytesIO(data)) as book:
            for number, name in enumerate(book.sheet_names, 1):
                rows = book.get_sheet_by_name(name).to_python(skip_empty_area=False)
                if any(cell != "" for row in rows for cell in row):
                    return rows, tuple(book.sheet_names[number:])
    except RejectedLine as error:
        raise CorpusError(Text("{path} cannot be read: {error}.", path=path, error=error)) from None
    except (CalamineError, ValueError) as error:
        raise CorpusError(
            Text(
                "{path} is not a spreadsheet that can be read ({error}): save it as XLSX or CSV.",
                path=path,
                error=error,
            )
        ) from None
    return [], ()


def _text(cell: _Cell) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime.date):
        return cell.isoformat()
    return str(cell).strip()
