"""Read the rows of spreadsheets (XLSX, XLS, ODS); the only module that imports python_calamine."""

from __future__ import annotations

import datetime
import io
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path

from shrag.corpora.errors import CorpusError, RejectedLine
from shrag.corpora.readers.item import SourceItem
from shrag.corpora.readers.source import read_bytes
from shrag.corpora.readers.zip_archive import ZIP_MAGIC, open_zip
from shrag.messages.text import Text

OLE_MAGIC = b"\xd0\xcf\x11\xe0"
LARGEST_SPREADSHEET = 256 * 2**20
"""The largest accepted file in bytes; a file is read into memory as a whole."""

_HEADER_WITHIN = 10

_Cell = int | float | str | bool | datetime.time | datetime.date | datetime.datetime | datetime.timedelta


def read_spreadsheet(path: Path, score: Callable[[list[str]], int]) -> Iterator[SourceItem]:
    """Yield the rows of the first sheet that is not empty, as fields with the header's names; their offset is 0.

    Args:
        path: The file.
        score: Returns how many cells of a row are names of fields. The row with the highest score among the first ten
            is the header, so a caption may stand above it; of equal rows the first is taken.

    Raises:
        CorpusError: The file cannot be read, it has no row, or its header names a column twice.
    """
    rows = _rows(path)
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
    for number, row in enumerate(rows[at + 1 :], at + 2):
        # A column may be empty in many rows, so every row has the names of all columns, as in CSV.
        fields = {name: _text(cell) for name, cell in zip_longest(header, row[: len(header)], fillvalue="") if name}
        yield SourceItem(number, 0, fields if any(fields.values()) else None)


def _rows(path: Path) -> list[list[_Cell]]:
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        data = read_bytes(path, LARGEST_SPREADSHEET)
        if data.startswith(ZIP_MAGIC):
            open_zip(data).close()
        with CalamineWorkbook.from_filelike(io.BytesIO(data)) as book:
            for name in book.sheet_names:
                rows = book.get_sheet_by_name(name).to_python(skip_empty_area=False)
                if any(cell != "" for row in rows for cell in row):
                    return rows
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
    return []


def _text(cell: _Cell) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime.date):
        return cell.isoformat()
    return str(cell).strip()
