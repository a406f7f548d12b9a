"""Score a strategy's confidence over answerable and unanswerable questions.

The scores are shares of refusals, AUC, and risk and coverage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from statistics import fmean
from typing import NamedTuple

import msgspec

from shrag.corpora.records import Qrel
from shrag.evaluation.measures.refusals import confidence_auc
from shrag.evaluation.measures.risk_coverage import RiskPoint, area_under_risk, risk_coverage, thin_curve
from shrag.evaluation.questions.outcome import QuestionOutcome
from shrag.evaluation.statistics.intervals import Interval, item_interval, wilson_interval

ANSWERABLE, UNANSWERABLE = "answerable", "unanswerable"
"""The kinds of questions: those that a record answers, and those that no record answers.

Unanswerable questions may have kinds of their own instead.
"""


class ConfidenceCase(NamedTuple):
    """A question, how it was answered, and how it should have been answered.

    Attributes:
        kind: :data:`ANSWERABLE`, or the kind of the unanswerable question.
        confidence: The confidence; 0 if nothing was found, None if the strategy has no confidence.
        refused: Whether the question was refused, or would be by the threshold of the index.
        leads: Whether the first record answers the question; False if it is unanswerable.
        cites: Whether the answer cites a record that answers the question; None if there is no answer.
    """

    kind: str
    confidence: float | None
    refused: bool
    leads: bool
    cites: bool | None

    @property
    def answerable(self) -> bool:
        """Whether a record answers the question."""
        return self.kind == ANSWERABLE


class Estimate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A figure over questions, with the ends of its interval."""

    value: float
    low: float
    high: float


class KindScores(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The questions of one kind: their number, the share refused, and the AUC against the answerable ones.

    ``auc`` is None for the answerable questions themselves, if there are none, and if the strategy has no confidence.
    """

    kind: str
    questions: int
    refused: Estimate
    auc: Estimate | None


class CoverageScores(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The covered questions: those whose confidence is at least ``confidence``.

    Unanswerable questions count as wrong in both risks.

    Attributes:
        coverage: Share of all questions that are covered.
        confidence: The least confidence; None if the strategy has no confidence.
        answered: Number of covered questions.
        risk: Share of the covered questions whose first record does not answer them.
        cited_risk: Share of the covered questions whose answer cites no record that answers them. None if a covered
            question has no answer.
    """

    coverage: float
    confidence: float | None
    answered: int
    risk: float
    cited_risk: float | None


class ConfidenceScores(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The scores of a condition over a set.

    Attributes:
        kinds: Answerable questions first, then each kind of unanswerable questions, then all unanswerable ones together
            if they have several kinds. Questions without a kind count only among all.
        served: The questions that are answered with the index's threshold. Its ``confidence`` is the least among them.
            None if there are none.
        curve: At most ten points of the risk-coverage curve, by increasing coverage; empty without confidence.
        aurc: The area under the whole curve (AURC); None without confidence.
    """

    kinds: tuple[KindScores, ...]
    served: CoverageScores | None = None
    curve: tuple[CoverageScores, ...] = ()
    aurc: float | None = None


def answering_records(qrels: Iterable[Qrel], min_grade: int = 1) -> dict[str, set[str]]:
    """Return qid → docids whose grade is at least ``min_grade``, for every judged question; the set may be empty."""
    answering: dict[str, set[str]] = {}
    for qrel in qrels:
        docids = answering.setdefault(qrel.qid, set())
        if qrel.relevance >= min_grade:
            docids.add(qrel.docid)
    return answering


def confidence_cases(
    outcomes: Iterable[QuestionOutcome],
    answering: Mapping[str, AbstractSet[str]],
    unanswerable: Mapping[str, str],
) -> list[ConfidenceCase]:
    """Return a case for each outcome whose question is in one of the mappings, in the order of the outcomes.

    Args:
        outcomes: The outcomes of one condition.
        answering: Qid → docids of the records that answer, for the answerable questions.
        unanswerable: Qid → kind (may be empty), for the unanswerable questions.
    """
    chosen = [each for each in outcomes if each.qid in answering or each.qid in unanswerable]
    known = any(each.confidence is not None for each in chosen)
    cases = []
    for each in chosen:
        right = answering.get(each.qid, frozenset())
        cites = None if each.answer is None or each.refused else bool(right & set(each.answer.cited))
        cases.append(
            ConfidenceCase(
                ANSWERABLE if each.qid in answering else unanswerable[each.qid] or UNANSWERABLE,
                (each.confidence or 0.0) if known else None,
                each.refused,
                bool(right & set(each.top_docids[:1])),
                cites,
            )
        )
    return cases


def score_confidence(cases: Sequence[ConfidenceCase], *, seed: int = 0, level: float = 0.95) -> ConfidenceScores:
    """Return the scores of the cases of one condition.

    Shares have Wilson's interval, the AUC has the percentile bootstrap interval over the questions.
    """
    kinds = sorted({case.kind for case in cases}, key=lambda kind: (kind != ANSWERABLE, kind == UNANSWERABLE, kind))
    groups: dict[str, Callable[[ConfidenceCase], bool]] = {kind: _of_kind(kind) for kind in kinds}
    if len(kinds) > 1 + (ANSWERABLE in kinds):
        groups[UNANSWERABLE] = lambda case: not case.answerable
    confidences = [(case.confidence, case) for case in cases if case.confidence is not None]
    curve = risk_coverage((confidence, case.leads) for confidence, case in confidences)
    answered = [case for case in cases if not case.refused]
    return ConfidenceScores(
        kinds=tuple(_kind_scores(kind, chosen, cases, seed, level) for kind, chosen in groups.items()),
        served=_served(answered, len(cases)),
        curve=tuple(_coverage(point, cases) for point in thin_curve(curve)),
        aurc=area_under_risk(curve),
    )


def _of_kind(kind: str) -> Callable[[ConfidenceCase], bool]:
    return lambda case: case.kind == kind


def _kind_scores(
    kind: str, chosen: Callable[[ConfidenceCase], bool], cases: Sequence[ConfidenceCase], seed: int, level: float
) -> KindScores:
    of_kind = [case for case in cases if chosen(case)]
    refused = sum(case.refused for case in of_kind)
    share = _estimate(refused / len(of_kind), wilson_interval(refused, len(of_kind), level=level))
    compared = [case for case in cases if case.answerable or chosen(case)]
    value = _auc(compared) if kind != ANSWERABLE else None
    interval = item_interval(_auc, compared, seed=seed, level=level) if value is not None else None
    return KindScores(kind, len(of_kind), share, _estimate(value, interval) if value is not None else None)


def _auc(cases: Sequence[ConfidenceCase]) -> float | None:
    """Return the AUC of the answerable cases against all others."""
    answerable = [case.confidence for case in cases if case.answerable and case.confidence is not None]
    others = [case.confidence for case in cases if not case.answerable and case.confidence is not None]
    return confidence_auc(answerable, others)


def _estimate(value: float, interval: Interval | None) -> Estimate:
    # Too few questions for an interval: the figure may be anything from 0 to 1.
    return Estimate(value, *(interval or Interval(0.0, 1.0)))


def _coverage(point: RiskPoint, cases: Sequence[ConfidenceCase]) -> CoverageScores:
    covered = [case for case in cases if case.confidence is not None and case.confidence >= point.confidence]
    return CoverageScores(point.coverage, point.confidence, point.answered, point.risk, _cited_risk(covered))


def _served(answered: Sequence[ConfidenceCase], total: int) -> CoverageScores | None:
    if not answered:
        return None
    least = min((case.confidence for case in answered if case.confidence is not None), default=None)
    risk = fmean(not case.leads for case in answered)
    return CoverageScores(len(answered) / total, least, len(answered), risk, _cited_risk(answered))


def _cited_risk(cases: Sequence[ConfidenceCase]) -> float | None:
    if any(case.cites is None for case in cases):
        return None
    return fmean(not case.cites for case in cases)
