"""Read a table of questions, such as their languages or kinds.

It is a TSV file with a header, or a JSON Lines file with an object for each question.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

from shrag.corpora.formats.benchmarks import BenchmarkQuestion, read_benchmark
from shrag.corpora.formats.topics import read_text_lines
from shrag.corpora.readers.item import decode_object
from shrag.evaluation.errors import ExperimentRejected
from shrag.messages.text import Text

_QID = "qid"

KIND = "kind"
"""The column with the kind of an unanswerable question."""


def read_question_table(path: Path, *required: str) -> dict[str, dict[str, str]]:
    """Return qid → column → value, in the file's order.

    The columns of GPQA are the domains, those of SuperGPQA the fields and the difficulty. Those of other JSON objects
    are the keys whose values are text. Columns and values are returned in NFC, because the qids of topics are.

    Raises:
        ExperimentRejected: A line lacks ``qid`` or a column of ``required``, has another number of columns than the
            header, is not a JSON object, or has the qid of an earlier line.
        CorpusError: The file cannot be read, or is not UTF-8.
    """
    benchmark = read_benchmark(path)
    numbered = _rows(path) if benchmark is None else ((each.line, _benchmark_row(each)) for each in benchmark)
    rows: dict[str, dict[str, str]] = {}
    for number, row in numbered:
        for column in (_QID, *required):
            if column not in row:
                raise ExperimentRejected(
                    Text(
                        "{path} has no column {column!r} but {row}: write the names of the columns, separated "
                        "by tabs, into the first line, or JSON objects with these keys.",
                        path=path,
                        column=column,
                        row=", ".join(row),
                    )
                )
        if row[_QID] in rows:
            raise ExperimentRejected(
                Text(
                    "{path} line {number} has {row} a second time: delete one of the two.",
                    path=path,
                    number=number,
                    row=row[_QID],
                )
            )
        rows[row[_QID]] = row
    return rows


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number and the columns of each line."""
    header: list[str] = []
    for number, text in read_text_lines(path):
        if text.startswith("{"):
            fields = decode_object(text.encode())
            if isinstance(fields, str):
                raise ExperimentRejected(
                    Text(
                        "{path} line {number} is not a JSON object: {fields}.", path=path, number=number, fields=fields
                    )
                )
            yield number, {_nfc(key): _nfc(value) for key, value in fields.items() if isinstance(value, str)}
            continue
        cells = [_nfc(cell.strip()) for cell in text.split("\t")]
        if not header:
            header = cells
            continue
        if len(cells) != len(header):
            raise ExperimentRejected(
                Text(
                    "{path} line {number} has {cells_count} columns, and its header {header_count}.",
                    path=path,
                    number=number,
                    cells_count=len(cells),
                    header_count=len(header),
                )
            )
        yield number, dict(zip(header, cells, strict=True))


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _benchmark_row(question: BenchmarkQuestion) -> dict[str, str]:
    return {_QID: question.qid, **question.columns}
