"""A judge's opinion of the records in a results folder: its file, and the shares of the four levels of relevance.

Figure 5 of the RAISE paper shows these shares. They say how much the records help to solve the step that uses them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from shrag.evaluation.experiments.spec import Condition
from shrag.evaluation.judging.judgement_file import read_judgement_file
from shrag.evaluation.judging.relevance import RelevanceLevel
from shrag.evaluation.questions.outcome import QuestionOutcome
from shrag.evaluation.statistics.intervals import Interval, mean_interval

RELEVANCE_FILE = "relevance.jsonl"
"""The file of all judgements of records, in the results folder."""

STEP_RECORDS = 10
"""Number of records of a step that are judged, unless the condition sets ``step_records``.

RAISE solves a step from this many records.
"""

_NAMES: Mapping[RelevanceLevel, str] = {
    RelevanceLevel.NONE: "not_relevant",
    RelevanceLevel.SUPERFICIAL: "superficially_relevant",
    RelevanceLevel.PARTIAL: "partially_relevant",
    RelevanceLevel.FULL: "fully_relevant",
}

RELEVANCE_FIGURES = tuple(_NAMES.values())
"""The names of the measures. Each is the share of a question's judged records at one level."""


class StepRecord(NamedTuple):
    """A record that was found for a step of a question.

    ``step`` is the number of the step's node, 0 for the question itself.
    """

    qid: str
    step: int
    text: str
    docid: str


class JudgedRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of :data:`RELEVANCE_FILE`.

    ``reason`` is the judge's. If its reply could not be parsed, ``level`` is None and ``reason`` is the error.
    """

    set: str
    condition: str
    qid: str
    step: int
    docid: str
    judge: str
    level: RelevanceLevel | None
    reason: str

    @property
    def key(self) -> tuple[str, str, str, int, str]:
        """What was judged: set, condition, question, step and record."""
        return self.set, self.condition, self.qid, self.step, self.docid


class LevelShares(NamedTuple):
    """The share of a condition's judged records at each level, by the names of :data:`RELEVANCE_FIGURES`.

    ``scored`` and ``unscored`` are the numbers of records with and without a level.
    """

    set: str
    condition: str
    judge: str
    scored: int
    unscored: int
    shares: Mapping[str, tuple[float, Interval]]


def step_records(
    outcomes: Sequence[QuestionOutcome], questions: Mapping[str, str], condition: Condition, most: int, seed: int
) -> list[StepRecord]:
    """Return the records to judge, at most ``most`` of them; 0 for all.

    They are the records of each step or, for a question without steps, its best records. If there are too many, those
    with the smallest SHA-256 of seed, question, step and record are drawn.
    """
    given = condition.settings.get("step_records")
    shown = given if isinstance(given, int) and given else STEP_RECORDS
    found: list[StepRecord] = []
    for outcome in outcomes:
        steps = [node for node in outcome.nodes if node.kind == "step"]
        for node in steps:
            found += [StepRecord(outcome.qid, node.number, node.question, docid) for docid in node.docids[:shown]]
        if not steps:
            text = questions[outcome.qid]
            found += [StepRecord(outcome.qid, 0, text, docid) for docid in outcome.top_docids]
    if most and len(found) > most:
        order = sorted(found, key=lambda each: hashlib.sha256(f"{seed}\t{tuple(each)}".encode()).digest())
        drawn = set(order[:most])
        found = [each for each in found if each in drawn]
    return found


def level_shares(set_name: str, condition: str, judge: str, judged: Sequence[JudgedRecord], seed: int) -> LevelShares:
    """Return the share of a condition's records at each level, over all records that have a level."""
    levels = [each.level for each in judged if each.level is not None]
    shares = {
        name: (levels.count(level) / len(levels), mean_interval([float(each == level) for each in levels], seed=seed))
        for level, name in _NAMES.items()
        if levels
    }
    return LevelShares(set_name, condition, judge, len(levels), len(judged) - len(levels), shares)


def relevance_figures(judged: Sequence[JudgedRecord]) -> dict[str, dict[str, float]]:
    """Return figure → qid → share of the question's judged records at that level; empty without judged records."""
    levels: dict[str, list[RelevanceLevel]] = {}
    for each in judged:
        if each.level is not None:
            levels.setdefault(each.qid, []).append(each.level)
    return {
        name: {qid: found.count(level) / len(found) for qid, found in levels.items()}
        for level, name in _NAMES.items()
        if levels
    }


def read_record_relevance(folder: Path, judge: str) -> dict[tuple[str, str, str, int, str], JudgedRecord]:
    """Return key → judgement by ``judge``.

    Raises ``ResultsMismatch`` if the file is damaged.
    """
    return {
        each.key: each
        for each in read_judgement_file(folder / RELEVANCE_FILE, JudgedRecord, "records")
        if each.judge == judge
    }
