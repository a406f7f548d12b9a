"""Put records in front that answer a question of a certain kind.

These are records with the definition that is asked for, and records that give an overview of a broad subject.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shrag.corpora.records import Record
from shrag.corpora.text.sentences import split_sentences
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.serving.answering.definitions import defines_plainly
from shrag.serving.answering.overviews import breadth, names_all
from shrag.serving.request import AnswerLanguage
from shrag.serving.retrieval.query_terms import QueryTerm
from shrag.serving.retrieval.ranking import ScoredRecord

_LEAST_DEFINING = 0.5  # share of the best score from which a definition comes first
FEWEST_TITLES = 3
"""The fewest records with a subject in their titles that give an overview of it."""

_MOST_TITLES = 8


def definitions_first(names: Sequence[str], ranked: list[ScoredRecord]) -> tuple[list[ScoredRecord], bool]:
    """Return the records with those in front that define one of the names, and whether there are any.

    The best score is added to theirs.
    """
    best = ranked[0].score if ranked else 0.0

    def defines(each: ScoredRecord) -> bool:
        text = each.record.record.text
        return each.score >= _LEAST_DEFINING * best and any(
            defines_plainly(text[span.start : span.end], names) for span in split_sentences(text)
        )

    defining = [each._replace(score=best + each.score) for each in ranked if defines(each)] if names else []
    return _in_front(defining, ranked), bool(defining)


def overview_first(
    subject: Sequence[Sequence[QueryTerm]], ranked: list[ScoredRecord], language: AnswerLanguage
) -> tuple[list[ScoredRecord], frozenset[str]]:
    """Return the records with those in front that give the best overview of a subject, and the docids of these.

    They have the subject in their titles; if only few records have, there are none. Their score is twice the best one.
    """
    about = {each.docid for each in titled_with(subject, [each.record for each in ranked])}
    if len(about) < FEWEST_TITLES:
        return ranked, frozenset()
    found = [each._replace(score=2 * ranked[0].score) for each in ranked if each.record.record.docid in about]
    best = sorted(found, key=lambda each: -breadth(each.record, subject, language))[:_MOST_TITLES]
    return _in_front(best, ranked), frozenset([each.record.record.docid for each in best])


def titled_with(subject: Sequence[Sequence[QueryTerm]], records: Iterable[AnalyzedRecord]) -> list[Record]:
    """Return the complete records that have all of a subject in the title; of those with one title, the first."""
    found: dict[tuple[str, ...], Record] = {}
    for each in records:
        if each.record.complete and names_all(each, subject):
            found.setdefault(tuple(each.title_terms), each.record)
    return list(found.values())


def _in_front(first: Sequence[ScoredRecord], ranked: Sequence[ScoredRecord]) -> list[ScoredRecord]:
    docids = {each.record.record.docid for each in first}
    return [*first, *(each for each in ranked if each.record.record.docid not in docids)]
