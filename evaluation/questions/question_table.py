"""Tables of questions: TSV with a header and a line for each question, such as its languages or its kind."""

from __future__ import annotations

from pathlib import Path

from shrag.corpora.formats.benchmarks import BenchmarkQuestion, read_benchmark
from shrag.corpora.formats.topics import read_text_lines
from shrag.evaluation.errors import ExperimentRejected

_QID = "qid"

KIND = "kind"
"""The column with the kind of an unanswerable question."""


def read_question_table(path: Path, *required: str) -> dict[str, dict[str, str]]:
    """Return qid → column → value, in the file's order; of GPQA the domains, of SuperGPQA the fields and difficulty.

    Raises:
        ExperimentRejected: The header lacks ``qid`` or a column of ``required``, or a line has another number of
            columns or the qid of an earlier one.
        CorpusError: The file cannot be read, or is not UTF-8.
    """
    benchmark = read_benchmark(path)
    if benchmark is not None:
        return {each.qid: _benchmark_row(path, each, required) for each in benchmark}
    header: list[str] = []
    rows: dict[str, dict[str, str]] = {}
    for number, text in read_text_lines(path):
        cells = [cell.strip() for cell in text.split("\t")]
        if not header:
            header = cells
            for column in (_QID, *required):
                if column not in header:
                    raise ExperimentRejected(
                        f"{path} has no column {column!r} but {', '.join(header)}: write the names of the columns, "
                        "separated by tabs, into the first line."
                    )
            continue
        if len(cells) != len(header):
            raise ExperimentRejected(f"{path} line {number} has {len(cells)} columns, and its header {len(header)}.")
        row = dict(zip(header, cells, strict=True))
        if row[_QID] in rows:
            raise ExperimentRejected(f"{path} line {number} has {row[_QID]} a second time: delete one of the two.")
        rows[row[_QID]] = row
    return rows


def _benchmark_row(path: Path, question: BenchmarkQuestion, required: tuple[str, ...]) -> dict[str, str]:
    for column in required:
        if column not in question.columns:
            known = ", ".join(question.columns)
            raise ExperimentRejected(f"{path} has no column {column!r} but {known}: name one of these.")
    return {_QID: question.qid, **question.columns}
