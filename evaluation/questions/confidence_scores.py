"""Scores of a strategy's confidence over answerable and unanswerable questions: refusals, AUC, risk and coverage."""

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
"""Names of the questions that a record answers, and of those that none does and that have no kind of their own."""


class ConfidenceCase(NamedTuple):
    """A question, how it was answered, and how it should have been.

    Attributes:
        kind: :data:`ANSWERABLE`, or the kind of unanswerable question.
        confidence: 0 where nothing was found; None where the strategy has no confidence.
        refused: Whether it was refused, or would be by the threshold of the index.
        leads: Whether the first record answers it; never where it is unanswerable.
        cites: Whether the answer cites a record that answers it; None where there is no answer.
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
    """A figure over questions with the ends of its interval."""

    value: float
    low: float
    high: float


class KindScores(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The questions of one kind: their number, the share refused, and the AUC against the answerable ones.

    ``auc`` is None for answerable questions, where there are none, and where the strategy has no confidence.
    """

    kind: str
    questions: int
    refused: Estimate
    auc: Estimate | None


class CoverageScores(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The questions with at least a confidence, which are the share ``coverage`` of all.

    ``risk`` is the share of them whose first record does not answer; ``cited_risk`` that of those whose answer cites no
    record that does, None where one of them has no answer. Unanswerable questions count as wrong in both.
    ``confidence`` is None where the strategy has none.
    """

    coverage: float
    confidence: float | None
    answered: int
    risk: float
    cited_risk: float | None


class ConfidenceScores(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The scores of a condition over a set.

    Attributes:
        kinds: Answerable questions first, then each kind of the others, then all of these where they have kinds.
        served: What is answered by the index's threshold; ``confidence`` is the least one among it. None where nothing
            is.
        curve: The risk-coverage curve at about ten points, by increasing coverage; empty without confidence.
        aurc: The area under the whole curve (AURC), None without confidence.
    """

    kinds: tuple[KindScores, ...]
    served: CoverageScores | None = None
    curve: tuple[CoverageScores, ...] = ()
    aurc: float | None = None


def answering_records(qrels: Iterable[Qrel], min_grade: int = 1) -> dict[str, set[str]]:
    """Return qid → docids of at least the grade ``min_grade``, for every judged question; the set may be empty."""
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
    """Return the case of each outcome, in their order, that is in one of the mappings.

    Args:
        outcomes: The outcomes of one condition.
        answering: Qid → docids of the records that answer, of the answerable questions.
        unanswerable: Qid → kind (may be empty) of the unanswerable questions.
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

    Intervals are Wilson's for shares, and percentile bootstrap over the questions for the AUC.
    """
    kinds = sorted({case.kind for case in cases}, key=lambda kind: (kind != ANSWERABLE, kind))
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
    # Too few questions for an interval: nothing is known of it.
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
