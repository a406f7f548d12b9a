"""The file of a results folder with a judge's scores of its answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from shrag.corpora.formats.topics import read_text_lines
from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.judging.llm_judge import Judgement

JUDGEMENTS_FILE = "judgements.jsonl"
"""The file of all judgements, in the results folder."""


class JudgedAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of :data:`JUDGEMENTS_FILE`: a judge's scores of the answer to a question under a condition."""

    set: str
    condition: str
    qid: str
    judgement: Judgement


def read_judgements(folder: Path, judge: str) -> dict[tuple[str, str, str], JudgedAnswer]:
    """Return (set, condition, qid) → judgement of ``judge``; raise ``ResultsMismatch`` where the file is damaged."""
    return {
        (each.set, each.condition, each.qid): each
        for each in _read(folder / JUDGEMENTS_FILE)
        if each.judgement.judge == judge
    }


def _read(path: Path) -> Iterator[JudgedAnswer]:
    """Yield the stored judgements, after truncating an incomplete last line."""
    if not path.exists():
        return
    data = path.read_bytes()
    complete = data[: data.rfind(b"\n") + 1]
    if len(complete) < len(data):
        path.write_bytes(complete)
    for number, text in read_text_lines(path):
        try:
            yield msgspec.json.decode(text, type=JudgedAnswer)
        except msgspec.MsgspecError as error:
            raise ResultsMismatch(
                f"{path} line {number} is not a judgement ({error}): delete the line, or the file to have all "
                "answers judged again."
            ) from None
