"""Refusals: answers without sentences, which name the uncovered words of the question and the nearest records."""

from __future__ import annotations

from shrag.serving.events import Answer, EmptyReason, NearestRecord, Ranking
from shrag.serving.request import Question, Request

MOST_NEAREST = 5
"""Most records that a refusal names as the nearest ones.

Of eight questions that were refused though a record answers them, this record is the first for one, and the fourth or
fifth for four.
"""

_FAR = 0.0015
"""Confidence below which no nearest records are named if they lack a subject word: they share another one by chance."""


def is_refused(request: Request, ranking: Ranking, *, by_index: bool = True) -> bool:
    """Return whether the confidence of a ranking is too low to answer the request; False without a confidence.

    The request sets the least confidence. If it does not, the index's own threshold applies, but only ``by_index``.
    """
    if ranking.confidence is None or (request.min_confidence is None and not by_index):
        return False
    return not ranking.confidence.answers(request.min_confidence)


def refuse(question: Question, ranking: Ranking, reason: EmptyReason) -> Answer:
    """Return an extractive answer without sentences, which gives the ``reason``."""
    return Answer(
        "extractive",
        question.language,
        (),
        (),
        reason,
        nearest=nearest_records(ranking),
        uncovered=uncovered_words(ranking),
    )


def nearest_records(ranking: Ranking) -> tuple[NearestRecord, ...]:
    """Return the first records of the ranking, which a refusal names as the nearest ones; none if nothing is near."""
    known = ranking.confidence
    if known is not None and known.uncovered and known.value < _FAR:
        return ()
    return tuple([NearestRecord(each.record.docid, each.record.title) for each in ranking.records[:MOST_NEAREST]])


def uncovered_words(ranking: Ranking) -> tuple[str, ...]:
    """Return the distinctive words of the question that the best records lack, if a confidence was computed.

    There are none if no record was found, since the reason of the refusal says enough then.
    """
    return ranking.confidence.uncovered if ranking.confidence and ranking.records else ()


def doubtful_words(ranking: Ranking) -> tuple[str, ...]:
    """Return the uncovered words that an answer names: none unless the confidence is low.

    If it is higher, the records mostly express these words in another way.
    """
    confidence = ranking.confidence
    return confidence.uncovered if confidence is not None and confidence.level == "low" else ()
