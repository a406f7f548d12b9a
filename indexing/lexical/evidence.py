"""Measure how much of a question the best records have: the evidence that one of them answers it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from shrag.indexing.analysis.general_words import GENERAL_WORDS
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.bm25 import Bm25
from shrag.indexing.lexical.packed_question import RecordScorer
from shrag.indexing.lexical.reranker import QuestionReranker
from shrag.indexing.translation.query_translation import AnalyzedQuestion, has_word, least_distinctive_idf

DEPTH = 10
"""Number of records on which evidence is measured, one for each paper."""

_FIFTH = 4


class Evidence(NamedTuple):
    """How much of a question the best records have.

    Attributes:
        log_score: The logarithm of the best record's score.
        words: The number of the question's words that the best record has, in either language.
        lead: The best record's score minus that of the fifth.
        lead_over_second: The logarithm of the ratio of the best record's score to that of the second.
        lead_over_fifth: The logarithm of the ratio of the best record's score to that of the fifth.
    """

    log_score: float
    words: int
    lead: float
    lead_over_second: float
    lead_over_fifth: float


class ScoredByWords(NamedTuple):
    """A record and its score by the lexical re-ranker."""

    score: float
    record: AnalyzedRecord


NO_EVIDENCE = Evidence(-math.inf, 0, 0.0, 0.0, 0.0)
"""The evidence if no record was found, or if the best one scores 0."""


def rank_by_words(
    question: AnalyzedQuestion,
    parameters: Bm25,
    records: Sequence[AnalyzedRecord],
    scorer: RecordScorer | None = None,
) -> list[ScoredByWords]:
    """Return the records with the lexical re-ranker's scores, best first, ties by docid.

    The scores are by words alone, without pairs and not damped. The confidence is learned from questions made of
    titles, which share more pairs with a record than a person's question does: with pairs, 7 % instead of 4 % of the
    answerable ScienceON questions are refused.

    With a ``scorer`` all records must be those of its index, as they are stored there.
    """
    scores = QuestionReranker(question, parameters, pair_weight=0.0, scorer=scorer).score_records(records)
    return order_by_words(ScoredByWords(each.words, record) for each, record in zip(scores, records, strict=True))


def order_by_words(scored: Iterable[ScoredByWords]) -> list[ScoredByWords]:
    """Return records best first, ties by docid."""
    return sorted(scored, key=lambda each: (-each.score, each.record.record.docid))


def best_papers(ranked: Iterable[ScoredByWords]) -> list[ScoredByWords]:
    """Return the first :data:`DEPTH` records of a ranking, one for each paper."""
    papers: dict[str, ScoredByWords] = {}
    for each in ranked:
        papers.setdefault(each.record.record.paper, each)
        if len(papers) == DEPTH:
            break
    return list(papers.values())


def measure_evidence(question: AnalyzedQuestion, ranked: Sequence[ScoredByWords]) -> Evidence:
    """Return the evidence for a question from its :func:`best_papers`, given best first."""
    if not ranked or ranked[0].score <= 0:
        return NO_EVIDENCE
    scores = [each.score for each in ranked]
    second, fifth = scores[min(1, len(scores) - 1)], scores[min(_FIFTH, len(scores) - 1)]
    return Evidence(
        log_score=math.log(scores[0]),
        words=sum(covered_segments(question, ranked[0].record)),
        lead=scores[0] - fifth,
        lead_over_second=_log_ratio(scores[0], second),
        lead_over_fifth=_log_ratio(scores[0], fifth),
    )


def distinctive_segments(question: AnalyzedQuestion) -> list[int]:
    """Return the numbers of the question's rare keywords; general words count only if there are no others."""
    keywords = [(number, segment) for number, segment in enumerate(question.segments) if segment.is_keyword]
    special = [each for each in keywords if each[1].written_in(question.text).lower() not in GENERAL_WORDS]
    idfs = {number: max(question.idf[term] for term in segment.terms) for number, segment in special or keywords}
    least = least_distinctive_idf(idfs.values())
    return [number for number, idf in idfs.items() if idf >= least]


def is_complete(question: AnalyzedQuestion, record: AnalyzedRecord) -> bool:
    """Return whether a record's title and one of its sentences together have all distinctive words of the question."""
    words = distinctive_segments(question)
    held = map(frozenset(record.title_terms).union, record.sentence_terms)
    return bool(words) and any(all(_has(question, number, terms) for number in words) for terms in held)


def covered_segments(question: AnalyzedQuestion, record: AnalyzedRecord) -> list[bool]:
    """Return for each segment of the question whether a record has it, in either language."""
    terms = frozenset(record.contents_terms)
    return [_has(question, number, terms) for number in range(len(question.segments))]


def covered_idf(question: AnalyzedQuestion, record: AnalyzedRecord) -> float:
    """Return the sum of the idf of the question's segments that a record has, in either language."""
    covered = zip(question.segments, covered_segments(question, record), strict=True)
    return sum(max(question.idf[term] for term in segment.terms) for segment, has in covered if has)


def _has(question: AnalyzedQuestion, number: int, terms: AbstractSet[str]) -> bool:
    """Return whether ``terms`` have a segment of the question; false for compounds and framing words."""
    segment = question.segments[number]
    return segment.is_content and has_word(terms, segment.forms, question.translations[number])


def _log_ratio(best: float, other: float) -> float:
    return math.log((best + 0.1) / (max(other, 0.0) + 0.1))
