"""Put records in front that answer a question of a certain kind.

These are records with the definition that is asked for, records that give an overview of a broad subject, and records
that compare two subjects or are about one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shrag.corpora.records import Record
from shrag.corpora.text.sentences import split_sentences
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.serving.answering.definitions import defines_plainly
from shrag.serving.events import ListingKind
from shrag.serving.request import AnswerLanguage
from shrag.serving.retrieval.broad_questions import BroadQuestion, Phrase, breadth, compare_subjects, names_all
from shrag.serving.retrieval.query_terms import has_phrase
from shrag.serving.retrieval.ranking import ScoredRecord

_LEAST_DEFINING = 0.5  # share of the best score from which a definition comes first
FEWEST_TITLES = 3
"""The fewest records with a subject in their titles that give an overview of it."""

_MOST_TITLES = 8
_MOST_COMPARING = 4
_MOST_OF_EACH = 3


def definitions_first(names: Sequence[str], ranked: list[ScoredRecord]) -> tuple[list[ScoredRecord], bool]:
    """Return the records with those in front that define one of the names, and whether there are any.

    The best score is added to theirs.
    """
    best = ranked[0].score if ranked else 0.0

    def defines(each: ScoredRecord) -> bool:
        text = each.record.record.text
        return (
            each.record.record.complete
            and each.score >= _LEAST_DEFINING * best
            and any(defines_plainly(text[span.start : span.end], names) for span in split_sentences(text))
        )

    defining = [each._replace(score=best + each.score) for each in ranked if defines(each)] if names else []
    return _in_front(defining, ranked), bool(defining)


class BroadRecords(NamedTuple):
    """Ranked records, of which the first ones serve a broad question best.

    Attributes:
        records: The records.
        docids: The docids of the first ones.
        kind: What the first ones are.
    """

    records: list[ScoredRecord]
    docids: frozenset[str]
    kind: ListingKind


def broad_first(
    question: BroadQuestion, ranked: list[ScoredRecord], language: AnswerLanguage, *, defines: bool = False
) -> BroadRecords:
    """Return the records with those in front that serve a broad question best.

    They give an overview of its subject, or compare its two subjects. Their score is twice the best one. If the first
    record ``defines`` the subject, it stays first.
    """
    if defines:
        overviews = _titled(question, ranked[1:], language)[: _MOST_TITLES - 1]
        return _led_by([ranked[0], *overviews] if overviews else [], ranked, "definition")
    kind: ListingKind
    if question.compares:
        kind, chosen = "comparison", _comparing(question, ranked)
        if not chosen:
            kind, chosen = "separate", _about_each(question, ranked, language)
    else:
        kind, chosen = "subject", _titled(question, ranked, language)
        if not chosen:
            kind, chosen = "mentions", _mentioning(question, ranked)
    return _led_by(chosen, ranked, kind if chosen else "")


def _led_by(chosen: Sequence[ScoredRecord], ranked: list[ScoredRecord], kind: ListingKind) -> BroadRecords:
    best = [each._replace(score=2 * ranked[0].score) for each in chosen]
    docids = frozenset([each.record.record.docid for each in best])
    return BroadRecords(_in_front(best, ranked), docids, kind)


def _titled(question: BroadQuestion, ranked: Sequence[ScoredRecord], language: AnswerLanguage) -> list[ScoredRecord]:
    """Return the records with the subject in their titles, the best overviews first; none if only few have it."""
    found = _overviews(question, ranked, language)
    return found[:_MOST_TITLES] if len(found) >= FEWEST_TITLES else []


def _about_each(
    question: BroadQuestion, ranked: Sequence[ScoredRecord], language: AnswerLanguage
) -> list[ScoredRecord]:
    """Return the best overviews of each of two subjects in turn, those in ``language`` first; none if one has none."""
    served = [each for each in ranked if _served(each, question) == len(question.purpose)]

    def overviews(phrase: Phrase) -> list[ScoredRecord]:
        named = question._replace(subject=(phrase,))
        found = _overviews(named, served, language)
        return [each for each in found if named.is_named(each.record.record.title)][:_MOST_OF_EACH]

    pairs = zip(*map(overviews, question.subject), strict=False)
    found = {each.record.record.docid: each for pair in pairs for each in pair}
    several = list(found.values()) if len(found) > 1 else []
    return sorted(several, key=lambda each: each.record.record.language != language)


def _overviews(question: BroadQuestion, ranked: Sequence[ScoredRecord], language: AnswerLanguage) -> list[ScoredRecord]:
    """Return the records with the subject in their titles, the best overviews first."""
    titled = {each.docid for each in titled_with(question.subject, [each.record for each in ranked])}
    found = [each for each in ranked if each.record.record.docid in titled]
    return sorted(found, key=lambda each: -breadth(each.record, question, language))


def _mentioning(question: BroadQuestion, ranked: Sequence[ScoredRecord]) -> list[ScoredRecord]:
    """Return the records that have one of two subjects in the title and both in a sentence; none if these are few."""

    def mentions(analyzed: AnalyzedRecord) -> bool:
        text = analyzed.record.text
        return any(names_all(analyzed, [phrase]) for phrase in question.subject) and any(
            question.is_named(text[start:end]) for start, end in split_sentences(text)
        )

    if len(question.subject) == 1:
        return []
    found = [each for each in ranked if each.record.record.complete and mentions(each.record)]
    return found[:_MOST_TITLES] if len(found) >= FEWEST_TITLES else []


def _comparing(question: BroadQuestion, ranked: Sequence[ScoredRecord]) -> list[ScoredRecord]:
    """Return the records that compare the two subjects, and first those for more of the same purpose.

    Of these, records come first that say how the two differ, and then those with both in the title. If some records
    have all of the purpose, the others are left out.
    """
    found: list[tuple[int, bool, bool, ScoredRecord]] = []
    for each in ranked:
        if each.record.record.complete and (compared := compare_subjects(each.record, question)).compares:
            named = names_all(each.record, question.subject)
            found.append((-_served(each, question), not compared.tells, not named, each))
    found.sort(key=lambda place: place[:3])
    fitting = [place for place in found if -place[0] == len(question.purpose)] or found
    return [each for *_, each in fitting[:_MOST_COMPARING]]


def _served(each: ScoredRecord, question: BroadQuestion) -> int:
    """Return how many phrases of the purpose of a comparison a record has."""
    terms = frozenset(each.record.contents_terms)
    return sum(has_phrase(terms, [phrase]) for phrase in question.purpose)


def titled_with(subject: Sequence[Phrase], records: Iterable[AnalyzedRecord]) -> list[Record]:
    """Return the complete records that have all of a subject in the title; of those with one title, the first."""
    found: dict[tuple[str, ...], Record] = {}
    for each in records:
        if each.record.complete and names_all(each, subject):
            found.setdefault(tuple(each.title_terms), each.record)
    return list(found.values())


def _in_front(first: Sequence[ScoredRecord], ranked: Sequence[ScoredRecord]) -> list[ScoredRecord]:
    docids = {each.record.record.docid for each in first}
    return [*first, *(each for each in ranked if each.record.record.docid not in docids)]
