"""The files of a part of an experiment. A part is one set under one condition.

``SET/CONDITION.run`` is the TREC run. ``.questions.jsonl`` has the outcome of each question, ``.times.jsonl`` its
timings. Times have a file of their own because only they differ between two runs of the same experiment. Until the
part is complete, ``.journal`` has the answered questions, one JSON line each.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from shrag.corpora.files import write_atomically
from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.measures.trec_run import write_topic
from shrag.evaluation.questions.outcome import QuestionOutcome, QuestionRecord
from shrag.messages.text import Text

RUN, OUTCOMES, TIMES, JOURNAL = ".run", ".questions.jsonl", ".times.jsonl", ".journal"
"""Endings of a part's files."""

_Struct = TypeVar("_Struct", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class ExperimentPart:
    """One set under one condition. ``repeat`` counts from 1. It is 0 for a condition that is run once."""

    set: str
    condition: str
    repeat: int = 0

    @property
    def stem(self) -> str:
        """The path of its files in the results folder, without the ending."""
        return f"{self.set}/{self.condition}" + (f".{self.repeat}" if self.repeat else "")

    @property
    def tag(self) -> str:
        """The tag in the last column of its run file."""
        return f"shrag-{self.condition}" + (f".{self.repeat}" if self.repeat else "")


class QuestionTime(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The seconds of each stage of a question, and the number of the language model's tokens."""

    qid: str
    seconds: dict[str, float]
    tokens: int


def part_path(folder: Path, part: ExperimentPart, ending: str) -> Path:
    """Return the path of the part's file with this ending, such as :data:`RUN`."""
    return folder / f"{part.stem}{ending}"


def is_done(folder: Path, part: ExperimentPart) -> bool:
    """Return whether the part is complete, that is, whether the file that is written last exists."""
    return part_path(folder, part, OUTCOMES).is_file()


def write_part(folder: Path, part: ExperimentPart, records: Sequence[QuestionRecord]) -> None:
    """Write the part's files, each atomically, and delete its journal."""
    run = io.StringIO()
    for each in records:
        write_topic(run, each.outcome.qid, each.hits, part.tag)
    write_atomically(part_path(folder, part, RUN), run.getvalue().encode())
    write_atomically(
        part_path(folder, part, TIMES),
        _lines(QuestionTime(each.outcome.qid, each.seconds, each.tokens) for each in records),
    )
    write_atomically(part_path(folder, part, OUTCOMES), _lines(each.outcome for each in records))
    part_path(folder, part, JOURNAL).unlink(missing_ok=True)


def read_outcomes(folder: Path, part: ExperimentPart) -> list[QuestionOutcome]:
    """Return the outcomes of a part.

    Raises :class:`ResultsMismatch` if the file is missing or damaged.
    """
    return _read(part_path(folder, part, OUTCOMES), QuestionOutcome)


def read_times(folder: Path, part: ExperimentPart) -> list[QuestionTime]:
    """Return the times of a part.

    Raises :class:`ResultsMismatch` if the file is missing or damaged.
    """
    return _read(part_path(folder, part, TIMES), QuestionTime)


def _lines(values: Iterable[msgspec.Struct]) -> bytes:
    return b"".join(msgspec.json.encode(value) + b"\n" for value in values)


def _read(path: Path, kind: type[_Struct]) -> list[_Struct]:
    try:
        return msgspec.json.Decoder(kind).decode_lines(path.read_bytes())
    except OSError as error:
        raise ResultsMismatch(
            Text(
                "{path} cannot be read ({strerror}): complete it with `shrag experiment … --resume`.",
                path=path,
                strerror=error.strerror,
            )
        ) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ResultsMismatch(
            Text("{path} is damaged ({error}): delete it and continue with --resume.", path=path, error=error)
        ) from None


def read_journal(path: Path, qids: Sequence[str]) -> list[QuestionRecord]:
    """Return the valid records of a journal, and truncate the file after the last one. A missing journal is empty.

    A line is invalid if it is incomplete, is not a record, or is about another question than the one at its position
    in ``qids``. An invalid line is dropped together with all lines after it.
    """
    records: list[QuestionRecord] = []
    valid_bytes = 0
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return records
    for qid, line in zip(qids, data.splitlines(keepends=True), strict=False):
        record = _decode(line) if line.endswith(b"\n") else None
        if record is None or record.outcome.qid != qid:
            break
        records.append(record)
        valid_bytes += len(line)
    with path.open("r+b") as stream:
        stream.truncate(valid_bytes)
    return records


def append_to_journal(path: Path, records: Iterable[QuestionRecord]) -> Iterable[QuestionRecord]:
    """Append ``records`` to the journal, and yield each as soon as it is written."""
    with path.open("ab") as stream:
        for record in records:
            stream.write(msgspec.json.encode(record) + b"\n")
            stream.flush()
            yield record


def _decode(line: bytes) -> QuestionRecord | None:
    try:
        return msgspec.json.decode(line, type=QuestionRecord)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
