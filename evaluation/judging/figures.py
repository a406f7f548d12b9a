"""Turn a judge's scores of answers into measures of an experiment.

The measures have the names of the Tree-of-Question paper.
"""

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
"""The names of the measures.

Semantic coherence and the overall assessment are from 1 to 10. The other two are shares.
"""


def score_figures(scores: JudgeScores) -> dict[str, float]:
    """Return figure → value for the scores of one answer."""
    return {name: figure(scores) for name, figure in _FIGURES.items()}


def judge_figures(
    outcomes: Iterable[QuestionOutcome], judgements: Mapping[str, JudgedAnswer]
) -> dict[str, dict[str, float]]:
    """Return figure → qid → value for the answers of a part.

    A question that was refused or could not be asked has the lowest scores. So has an answer whose scores could not
    be parsed. All conditions are thus compared over the same questions. ``judgements`` is qid → judgement.
    """
    scores = {each.qid: _scores(judgements.get(each.qid)) for each in outcomes}
    return {name: {qid: figure(each) for qid, each in scores.items()} for name, figure in _FIGURES.items()}


def _scores(judged: JudgedAnswer | None) -> JudgeScores:
    return judged.judgement.scores if judged and judged.judgement.scores else _LOWEST
