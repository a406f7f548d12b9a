"""The file in which a results folder stores a judge's scores of its answers."""

from __future__ import annotations

from pathlib import Path

import msgspec

from shrag.evaluation.judging.judgement_file import read_judgement_file
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
    """Return (set, condition, qid) → judgement by ``judge``.

    Raises ``ResultsMismatch`` if the file is damaged.
    """
    return {
        (each.set, each.condition, each.qid): each
        for each in read_judgement_file(folder / JUDGEMENTS_FILE, JudgedAnswer, "answers")
        if each.judgement.judge == judge
    }
