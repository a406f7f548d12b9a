"""A judge's scores of the answers as measures of an experiment, by the names of the Tree-of-Question paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from shrag.evaluation.judging.judgements import JudgedAnswer
from shrag.evaluation.judging.llm_judge import JudgeScores
from shrag.evaluation.questions.outcome import QuestionOutcome

_LOWEST = JudgeScores(relevance=1, answerability=0, valid=False)

_FIGURES: Mapping[str, Callable[[JudgeScores], float]] = {
    "semantic_coherence": lambda scores: float(scores.relevance),
    "answerability": lambda scores: scores.answerability / 100,
    "overall_assessment": lambda scores: scores.overall,
    "response_validity": lambda scores: float(scores.valid),
}

JUDGE_FIGURES = tuple(_FIGURES)
"""The names of the measures: semantic coherence and the overall assessment from 1 to 10, the others shares."""


def score_figures(scores: JudgeScores) -> dict[str, float]:
    """Return figure → value of one answer's scores."""
    return {name: figure(scores) for name, figure in _FIGURES.items()}


def judge_figures(
    outcomes: Iterable[QuestionOutcome], judgements: Mapping[str, JudgedAnswer]
) -> dict[str, dict[str, float]]:
    """Return figure → qid → value of a part's answers; ``judgements`` is qid → judgement.

    A question that was refused or could not be asked, and an answer whose scores could not be parsed, has the lowest
    scores: so all conditions are compared over the same questions.
    """
    scores = {each.qid: _scores(judgements.get(each.qid)) for each in outcomes}
    return {name: {qid: figure(each) for qid, each in scores.items()} for name, figure in _FIGURES.items()}


def _scores(judged: JudgedAnswer | None) -> JudgeScores:
    return judged.judgement.scores if judged and judged.judgement.scores else _LOWEST
