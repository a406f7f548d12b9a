"""The confidence that the best record of a ranking answers the question."""

from __future__ import annotations

from collections.abc import Iterable

from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.glossary.query_translation import AnalyzedQuestion
from shrag.indexing.lexical.evidence import DEPTH, measure_evidence, uncovered_words
from shrag.indexing.open_index import OpenIndex
from shrag.serving.events import Confidence, ConfidenceLevel
from shrag.serving.retrieval.ranking import ScoredRecord

THRESHOLD = 0.05
"""Least confidence that is answered: about this share of the questions that are answered is refused."""

_HIGH, _MEDIUM = 0.5, 0.2


def assess_confidence(
    question: AnalyzedQuestion, index: OpenIndex, scored: Iterable[ScoredRecord]
) -> Confidence | None:
    """Return the confidence that the first of ``scored``, best first, answers; None without a calibration.

    Evidence is what the records hold of the question's words, whatever ranked them.
    """
    if index.calibration is None:
        return None
    papers: dict[str, AnalyzedRecord] = {}
    for each in scored:
        record = each.record.record
        if record.complete:
            papers.setdefault(record.duplicate_of or record.docid, each.record)
        if len(papers) == DEPTH:
            break
    records = list(papers.values())
    value = index.calibration.confidence(measure_evidence(question, index.manifest.bm25, records))
    return Confidence(value, _level(value), uncovered_words(question, records), THRESHOLD)


def _level(value: float) -> ConfidenceLevel:
    return "high" if value >= _HIGH else "medium" if value >= _MEDIUM else "low"
