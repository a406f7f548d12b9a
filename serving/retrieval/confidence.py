"""The confidence that the best record of a ranking answers the question."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.lexical.evidence import (
    ScoredByWords,
    best_papers,
    covered_segments,
    is_complete,
    measure_evidence,
    order_by_words,
    rank_by_words,
)
from shrag.indexing.lexical.uncovered_words import uncovered_words
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.translation.query_translation import AnalyzedQuestion
from shrag.serving.events import Confidence, ConfidenceLevel
from shrag.serving.request import Question
from shrag.serving.retrieval.asking_words import asks_for_records
from shrag.serving.retrieval.query_terms import has_phrase, text_terms
from shrag.serving.retrieval.ranking import ScoredRecord

THRESHOLD = 0.055
"""Least confidence with which a question is answered.

It was chosen on 188 ScienceON questions: it refuses 4 of the 124 that a record answers (one in 30), and 40 of the other
64.
"""

_HIGH, _MEDIUM = 0.5, 0.2
OF_KIND = _MEDIUM
"""Least confidence if the first record has the definition that is asked for, or is about the broad subject that is."""

MENTIONING = _MEDIUM / 2
"""Least confidence if the first record has a sentence with both subjects of a broad question, perhaps in passing."""

# A question for a place, a person or a time is no list of keywords. A record in the other language may have all of its
# words by chance: 한국의 수도는 어디인가요, human capital in Korea.
_ASKS_FOR_FACT = re.compile(r"어디|누구|누가|언제|^\W*(?:where|who|whose|when)\b", re.IGNORECASE)
# A question about the present day or hour (내일 날씨, What is on tonight?), which records cannot answer.
_ASKS_FOR_NOW = re.compile(
    r"오늘(?!날)|내일|모레|어제|지금(?!까지|껏)|\b(?:today(?!['’]s)|tomorrow|tonight|yesterday|right\s+now)\b",
    re.IGNORECASE,
)
_MOST_UNKNOWN = 0.19
"""Highest confidence, if it is not high, of a question with a subject word that no record has and nothing translates,
and of one about the present day.

The confidence of 6 of 188 ScienceON questions is thereby low instead of medium; no record answers 4 of these.
"""

_MOST_UNANSWERED = 0.49
"""Highest confidence of a follow-up question if the leading record has none of the question's own words."""


def assess_confidence(
    asked: Question,
    question: AnalyzedQuestion,
    index: OpenIndex,
    scored: Iterable[ScoredRecord],
    *,
    least: float = 0.0,
) -> Confidence | None:
    """Return the confidence that the first of ``scored`` answers the question; None without a calibration.

    The evidence is what the records hold of the question's words, whatever ranked the records.

    Words of earlier questions say which records a follow-up question is about, but not that these records answer it. So
    the confidence is high only if the first record has a word of the follow-up question itself.

    Args:
        asked: The question.
        question: The same question, analyzed. If records are left out of the search, it lacks the words for that.
        index: The index, which has all of the records.
        scored: The records, best first. Scores by words, if there are any, are for this question.
        least: The least confidence. The few words of some questions cannot have much evidence, although the first
            record is of the kind that is asked for (:data:`OF_KIND`).
    """
    if index.calibration is None:
        return None
    scored = list(scored)
    complete = [each for each in scored if each.record.record.complete]
    best = best_papers(ScoredByWords(each.words or 0.0, each.record) for each in complete)
    records = [each.record for each in best]
    by_words = all(each.words is not None for each in complete)
    ranked = order_by_words(best) if by_words else rank_by_words(question, index.manifest.bm25, records, index.scorer)
    evidence = measure_evidence(question, ranked)
    # The answer quotes the record that leads the ranking, which may not be the best one by words.
    leading = {each[0].record.record.docid: each[0].record for each in (ranked, best) if each}
    has_all_words = any(
        is_complete(question, record)
        for record in leading.values()
        if record.record.language == asked.language or not _ASKS_FOR_FACT.search(question.text)
    )
    value = index.calibration.confidence(evidence, complete=has_all_words)
    if asked.asked is not None and not (scored and _has_own_words(question, asked.asked, scored[0].record)):
        value = min(value, _MOST_UNANSWERED)
    if value >= _HIGH:  # the records then express the uncovered words in another way
        return Confidence(value, "high", threshold=THRESHOLD)
    # The closest records are those that are shown, including records without an abstract.
    closest = best_papers(ScoredByWords(each.score, each.record) for each in scored)
    uncovered = uncovered_words(question, [each.record for each in closest])
    value = _lessen(value, uncovered.share)
    if uncovered.untranslated or _ASKS_FOR_NOW.search(question.text):
        value = min(value, _MOST_UNKNOWN)
    value = max(value, least)
    level: ConfidenceLevel = "medium" if value >= _MEDIUM else "low"
    # A record in the other language has many words in a translation that is not known.
    lacking = uncovered.untranslated if level == "low" else ()
    if complete and complete[0].record.record.language == asked.language:
        quoted = complete[0].record
        words = uncovered_words(question, [quoted]).words
        lacking = tuple([word for word in words if not _says_otherwise(quoted, word, index)])
    return Confidence(value, level, uncovered.words, THRESHOLD, lacking)


def _says_otherwise(record: AnalyzedRecord, word: str, index: OpenIndex) -> bool:
    """Return whether a record has a synonym of the word: another translation of one of its translations."""
    terms = frozenset(record.contents_terms)
    translations = {each.text for term in text_terms(word, index) for each in term.translations}
    return any(has_phrase(terms, [text_terms(each, index)]) for each in translations)


def _has_own_words(question: AnalyzedQuestion, asked: int, record: AnalyzedRecord) -> bool:
    """Return whether a record has a noun, foreign word or number of the question's first ``asked`` characters.

    Words that ask for records, whatever they are about, do not count.
    """
    return any(
        held and segment.end <= asked and segment.is_keyword and not asks_for_records(segment.written_in(question.text))
        for segment, held in zip(question.segments, covered_segments(question, record), strict=True)
    )


def _lessen(value: float, uncovered: float) -> float:
    """Return a confidence reduced by the share of the question's subject words that none of the best records has.

    The odds are divided by ``e ** uncovered``. This was chosen on the questions of :data:`THRESHOLD`; the gains and
    losses of other collections are in ``docs/en/explanation/answers.md``.
    """
    return value / (value + (1 - value) * math.exp(uncovered))
