"""Refusals: answers that say that no record answers, what was not covered, and which records are nearest."""

from __future__ import annotations

from shrag.serving.events import Answer, EmptyReason, NearestRecord, Ranking
from shrag.serving.request import Question, Request

MOST_NEAREST = 3
"""Nearest records of a refusal."""


def is_refused(request: Request, ranking: Ranking, *, by_index: bool = True) -> bool:
    """Return whether the confidence of a ranking is too low to answer the request; False where there is none.

    The least confidence is that of the request or, only ``by_index``, the index's own threshold.
    """
    if ranking.confidence is None or (request.min_confidence is None and not by_index):
        return False
    return not ranking.confidence.answers(request.min_confidence)


def refuse(question: Question, ranking: Ranking, reason: EmptyReason) -> Answer:
    """Return the extractive answer without sentences, for a ``reason``."""
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
    """Return the nearest records of a question that is refused: the first of the ranking."""
    return tuple([NearestRecord(each.record.docid, each.record.title) for each in ranking.records[:MOST_NEAREST]])


def uncovered_words(ranking: Ranking) -> tuple[str, ...]:
    """Return the distinctive words of the question that the best records do not have, as far as that is known.

    Where there is no record, its reason says enough.
    """
    return ranking.confidence.uncovered if ranking.confidence and ranking.records else ()


def doubtful_words(ranking: Ranking) -> tuple[str, ...]:
    """Return the :func:`uncovered_words` that an answer names: none unless the confidence is low.

    Else the records mostly have what was asked, in other words.
    """
    confidence = ranking.confidence
    return confidence.uncovered if confidence is not None and confidence.level == "low" else ()
