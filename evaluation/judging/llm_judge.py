"""A language model as judge of answers: relevance, answerability, validity.

The three marks are those of ToQ's evaluator (semantic coherence, answerability, response validity); the words that ask
for them are SHRAG's own. What a model thinks of an answer is no measurement: set it beside people's marks by
``shrag agreement`` before anything rests on it, and never compare marks of two judges.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Annotated, NamedTuple

import msgspec

from shrag.evaluation.statistics.intervals import Interval, mean_interval
from shrag.models.errors import InvalidOutput
from shrag.models.language_model import LanguageModel
from shrag.prompts.prompt import Language
from shrag.serving.llm.structured_call import Step, ask, unfenced

LONGEST_ANSWER = 6_000
"""Characters of an answer, and of its references together, that the judge is shown."""


class Marks(msgspec.Struct, frozen=True):
    """What the judge is asked to write: relevance from 1 to 10, answerability in per cent, and whether it will do."""

    relevance: Annotated[int, msgspec.Meta(ge=1, le=10)]
    answerability: Annotated[int, msgspec.Meta(ge=0, le=100)]
    valid: bool


class Judgement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The marks of one answer by the model called ``judge``; None, and why, where it gave none that can be read."""

    judge: str
    marks: Marks | None
    reason: str = ""


class JudgeSummary(NamedTuple):
    """Means over the answers that ``judge`` marked, with intervals; None where it marked none.

    ``answerability`` and ``valid`` are shares from 0 to 1. ``unmarked`` answers got no marks and are in no mean.
    """

    judge: str
    marked: int
    unmarked: int
    relevance: tuple[float, Interval] | None
    answerability: tuple[float, Interval] | None
    valid: tuple[float, Interval] | None


def judge_answer(
    model: LanguageModel, question: str, answer: str, language: Language, references: Sequence[str] = ()
) -> Judgement:
    """Have ``model`` mark an answer to ``question``, in that language, beside ``references`` where there are some.

    Marks that are out of bounds are asked for once more and then left out, with the reason. Raises
    :class:`~shrag.models.errors.ModelUnavailable` and :class:`~shrag.models.errors.ModelRefused`.
    """
    values = {"question": question, "answer": answer, "references": "\n".join(references)}
    # As for records: what is marked cannot pretend that it ends.
    shown = {name: unfenced(value[:LONGEST_ANSWER]) for name, value in values.items()}
    try:
        marks, _ = ask(model, Step("evaluate", "judge", language, shown, max_tokens=128), Marks)
    except InvalidOutput as error:
        return Judgement(model.name, None, str(error))
    return Judgement(model.name, marks)


def summarise_judgements(judge: str, given: Iterable[Judgement], seed: int = 0) -> JudgeSummary:
    """Return the means of one judge's marks; ``ValueError`` for those of another among them."""
    judgements = list(given)
    if others := {each.judge for each in judgements} - {judge}:
        raise ValueError(
            f"marks of {', '.join(sorted(others))} are none of {judge}'s: each judge has a mean of its own"
        )
    marks = [each.marks for each in judgements if each.marks is not None]

    def mean(values: Sequence[float]) -> tuple[float, Interval] | None:
        return (statistics.fmean(values), mean_interval(values, seed=seed)) if values else None

    return JudgeSummary(
        judge,
        marked=len(marks),
        unmarked=len(judgements) - len(marks),
        relevance=mean([float(each.relevance) for each in marks]),
        answerability=mean([each.answerability / 100 for each in marks]),
        valid=mean([float(each.valid) for each in marks]),
    )
