"""Records as a CSV table for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from shrag.corpora.records import Record
from shrag.serving.references.fields import one_line

COLUMNS = (
    "docid", "title", "authors", "year", "journal", "volume", "issue", "pages", "publisher", "type", "language", "doi",
    "link", "keywords", "text",
)  # fmt: skip

_BYTE_ORDER_MARK = "\ufeff"
_FORMULA = ("=", "+", "-", "@")


def csv_table(records: Iterable[Record]) -> str:
    """Return a table with a row for each record. Semicolons separate authors, and also keywords.

    The table begins with a byte order mark, since Excel does not read UTF-8 without it. A value that a spreadsheet
    would take for a formula has an apostrophe before it (OWASP, CSV injection).
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for record in records:
        writer.writerow([_cell(getattr(record, name)) for name in COLUMNS])
    return _BYTE_ORDER_MARK + stream.getvalue()


def _cell(value: object) -> str:
    text = one_line("; ".join(value) if isinstance(value, tuple) else "" if value is None else str(value))
    return f"'{text}" if text.startswith(_FORMULA) else text
