"""A part of an experiment (one set under one condition): its files and its journal of answered questions.

``SET/CONDITION.run`` is the TREC run, ``.questions.jsonl`` what became of each question, ``.times.jsonl`` how long each
took, apart because nothing else differs between two runs of the same. While a part is asked its questions are kept in
``.journal``, a line each.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from shrag.corpora.files import replace_durably
from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.measures.trec_run import write_topic
from shrag.evaluation.questions.outcome import Asked, Outcome

_Line = TypeVar("_Line", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Part:
    """``repeat`` counts from 1; 0 where the condition is run once."""

    set: str
    condition: str
    repeat: int = 0

    @property
    def stem(self) -> str:
        """Its files' common name in the folder of results."""
        return f"{self.set}/{self.condition}" + (f".{self.repeat}" if self.repeat else "")

    @property
    def tag(self) -> str:
        """The tag of its run."""
        return f"shrag-{self.condition}" + (f".{self.repeat}" if self.repeat else "")


class QuestionTime(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The seconds of each stage of a question, and the language model's tokens."""

    qid: str
    seconds: dict[str, float]
    tokens: int


def run_path(folder: Path, part: Part) -> Path:
    """Return where the part's run is."""
    return folder / f"{part.stem}.run"


def journal_path(folder: Path, part: Part) -> Path:
    """Return where the questions asked so far are kept."""
    return folder / f"{part.stem}.journal"


def is_done(folder: Path, part: Part) -> bool:
    """Say whether the part's files are whole: the last that is written is there."""
    return _outcomes_path(folder, part).is_file()


def write_part(folder: Path, part: Part, asked: Sequence[Asked]) -> None:
    """Write the part's files, each by one rename, and let go of its journal."""
    run = io.StringIO()
    for each in asked:
        write_topic(run, each.outcome.qid, each.hits, part.tag)
    replace_durably(run_path(folder, part), run.getvalue().encode())
    replace_durably(
        _times_path(folder, part),
        _lines(QuestionTime(each.outcome.qid, each.seconds, each.tokens) for each in asked),
    )
    replace_durably(_outcomes_path(folder, part), _lines(each.outcome for each in asked))
    journal_path(folder, part).unlink(missing_ok=True)


def read_outcomes(folder: Path, part: Part) -> list[Outcome]:
    """Return what became of the part's questions; raises :class:`ResultsMismatch` where it is not done."""
    return _read(_outcomes_path(folder, part), Outcome)


def read_times(folder: Path, part: Part) -> list[QuestionTime]:
    """Return how long the part's questions took; raises :class:`ResultsMismatch` where it is not done."""
    return _read(_times_path(folder, part), QuestionTime)


def _outcomes_path(folder: Path, part: Part) -> Path:
    return folder / f"{part.stem}.questions.jsonl"


def _times_path(folder: Path, part: Part) -> Path:
    return folder / f"{part.stem}.times.jsonl"


def _lines(values: Iterable[msgspec.Struct]) -> bytes:
    return b"".join(msgspec.json.encode(value) + b"\n" for value in values)


def _read(path: Path, kind: type[_Line]) -> list[_Line]:
    try:
        return msgspec.json.Decoder(kind).decode_lines(path.read_bytes())
    except OSError as error:
        raise ResultsMismatch(
            f"{path} cannot be read ({error.strerror}): go on with `shrag experiment … --resume`."
        ) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ResultsMismatch(f"{path} is damaged ({error}): remove it and go on with --resume.") from None


def read_journal(path: Path, qids: Sequence[str]) -> list[Asked]:
    """Return what was kept of the questions ``qids``, in their order; cut off what a kill left half-written.

    Lines that are no outcome, or of another question than stands at their place, and all behind them count for nothing.
    """
    kept: list[Asked] = []
    whole = 0
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return kept
    for qid, line in zip(qids, data.splitlines(keepends=True), strict=False):
        asked = _decode(line) if line.endswith(b"\n") else None
        if asked is None or asked.outcome.qid != qid:
            break
        kept.append(asked)
        whole += len(line)
    with path.open("r+b") as stream:
        stream.truncate(whole)
    return kept


def keep(path: Path, coming: Iterable[Asked]) -> Iterable[Asked]:
    """Yield what comes, each kept at the end of the journal before it is yielded."""
    with path.open("ab") as stream:
        for asked in coming:
            stream.write(msgspec.json.encode(asked) + b"\n")
            stream.flush()
            yield asked


def _decode(line: bytes) -> Asked | None:
    try:
        return msgspec.json.decode(line, type=Asked)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
