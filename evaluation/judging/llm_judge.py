"""Judge answers with a language model: their relevance, answerability and validity.

The three scores are those of the evaluator in the Tree-of-Question paper (semantic coherence, answerability, response
validity). The prompts are SHRAG's own. A model's opinion of an answer is not a measurement. First compare it with
people's scores by ``shrag agreement``, and never compare the scores of two judges.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Annotated, NamedTuple

import msgspec

from shrag.evaluation.statistics.intervals import Interval, bootstrap_interval, mean_interval
from shrag.models.errors import InvalidOutput
from shrag.models.language_model import LanguageModel
from shrag.prompts.prompt import Language
from shrag.serving.events import overall_assessment
from shrag.serving.llm.structured_call import PromptCall, call_model, remove_fence_marks

LONGEST_ANSWER = 6_000
"""Most characters of the question, of the answer, and of all references together in the judge's prompt."""


class JudgeScores(msgspec.Struct, frozen=True):
    """A judge's scores: relevance from 1 to 10, answerability in percent, and whether the answer is valid."""

    relevance: Annotated[int, msgspec.Meta(ge=1, le=10)]
    answerability: Annotated[int, msgspec.Meta(ge=0, le=100)]
    valid: bool

    @property
    def overall(self) -> float:
        """The paper's overall assessment: the mean of relevance and answerability, both from 1 to 10."""
        return overall_assessment(self.relevance, self.answerability)


class Judgement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The scores that the model ``judge`` gave to one answer.

    If its reply could not be parsed, ``scores`` is None and ``reason`` says why.
    """

    judge: str
    scores: JudgeScores | None
    reason: str = ""


class JudgeSummary(NamedTuple):
    """The means of one judge's scores with their 95 % intervals; None without scores.

    ``relevance`` and ``overall`` are from 1 to 10, ``answerability`` and ``valid`` are shares from 0 to 1. ``unscored``
    is the number of answers whose scores could not be parsed. The means leave them out.
    """

    judge: str
    scored: int
    unscored: int
    relevance: tuple[float, Interval] | None
    answerability: tuple[float, Interval] | None
    overall: tuple[float, Interval] | None
    valid: tuple[float, Interval] | None


def judge_answer(
    model: LanguageModel, question: str, answer: str, language: Language, references: Sequence[str] = ()
) -> Judgement:
    """Have ``model`` score one answer by a prompt in ``language``, which shows the ``references`` if there are any.

    If the scores cannot be parsed, the model is asked once more. If that fails too, the judgement has the reason
    instead of scores. Raises ``ModelUnavailable`` or ``ModelRefused`` if the model fails.
    """
    values = {"question": question, "answer": answer, "references": "\n".join(references)}
    # The text to judge must not contain the marks that delimit it in the prompt.
    shown = {name: remove_fence_marks(value[:LONGEST_ANSWER]) for name, value in values.items()}
    try:
        scores, _ = call_model(model, PromptCall("evaluate", "judge", language, shown, max_tokens=128), JudgeScores)
    except InvalidOutput as error:
        return Judgement(model.name, None, str(error))
    return Judgement(model.name, scores)


def summarise_judgements(judge: str, given: Iterable[Judgement], seed: int = 0) -> JudgeSummary:
    """Return the means of one judge's scores.

    Raises ``ValueError`` for a judgement by another judge.
    """
    judgements = list(given)
    if others := {each.judge for each in judgements} - {judge}:
        raise ValueError(
            f"there are scores of {', '.join(sorted(others))}, not only of {judge}: summarise each judge separately"
        )
    scores = [each.scores for each in judgements if each.scores is not None]

    def mean(values: Sequence[float]) -> tuple[float, Interval] | None:
        return (statistics.fmean(values), mean_interval(values, seed=seed)) if values else None

    def mean_of_scale(values: Sequence[float]) -> tuple[float, Interval] | None:
        # On a scale from 1 to 10, values that are all 1 are not a proportion.
        return (statistics.fmean(values), bootstrap_interval(values, seed=seed)) if values else None

    return JudgeSummary(
        judge,
        scored=len(scores),
        unscored=len(judgements) - len(scores),
        relevance=mean_of_scale([float(each.relevance) for each in scores]),
        answerability=mean([each.answerability / 100 for each in scores]),
        overall=mean_of_scale([each.overall for each in scores]),
        valid=mean([float(each.valid) for each in scores]),
    )
