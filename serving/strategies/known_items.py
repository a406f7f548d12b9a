"""A question that names a record by its identifier, or an author: what it names is shown, nothing is searched for."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from typing import Literal, NamedTuple

from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.query import And, Term
from shrag.indexing.translation.query_translation import analyze_question
from shrag.serving.answering.answer import StageTimer, answer
from shrag.serving.answering.refusal import refuse
from shrag.serving.events import Confidence, Event, Hits, Keywords, Queries, Ranking, Timings
from shrag.serving.request import Request
from shrag.serving.retrieval.confidence import THRESHOLD
from shrag.serving.retrieval.query_terms import query_terms
from shrag.serving.retrieval.ranking import RetrievalResult, ScoredRecord, has_more, rank_records
from shrag.serving.strategy import Resources

# What has no space in it and a digit: ART001758158, 10.1000/182, 1234#5. A particle behind it (ART001758158을) is none.
_IDENTIFIER = re.compile(r"(?=[!-~]*\d)[A-Za-z0-9][!-~]{3,}")
_PUNCTUATION = ".,;:?!)]}>\"'"
_MOST_LOOKED_UP = 3

_AUTHOR_LABEL = re.compile(r"(?:저자|author)\s*[:：]\s*", re.IGNORECASE)
_LONGEST_NAME = 100
_MOST_WORDS = 6
# Records of an author that are read, from the newest on, to find those that pass a filter.
_MOST_OF_AUTHOR = 1_000


class KnownItems(NamedTuple):
    """The records that a question names, best first, and what it named them by."""

    named_by: Literal["identifier", "author"]
    records: Sequence[AnalyzedRecord]


def find_known_items(request: Request, index: OpenIndex) -> KnownItems | None:
    """Return the records that a question names and its filter lets pass, None where it is to be searched for."""
    text = request.question.text
    record = find_named_record(text, index)
    if record is not None and request.record_filter.passes(record.record):
        return KnownItems("identifier", [record])
    by_author = [each for each in records_of_author(text, index) if request.record_filter.passes(each.record)]
    return KnownItems("author", by_author) if by_author else None


def find_named_record(question: str, index: OpenIndex) -> AnalyzedRecord | None:
    """Return the record whose docid a question has, and beside it no word to search for; None without one.

    *Summarize ART001758158.* names a record; a question with other words, or with two docids, is searched for.
    """
    written = {match.group().rstrip(_PUNCTUATION): match.start() for match in _IDENTIFIER.finditer(question)}
    if not written or len(written) > _MOST_LOOKED_UP:
        return None
    named = [record for record in index.store.fetch(list(written)) if record is not None]
    if len(named) != 1:
        return None
    (record,) = named
    start = written[record.record.docid]
    end = start + len(record.record.docid)
    segments = analyze_question(question, index.analyzer, index.searcher).segments
    others = [segment for segment in segments if segment.end <= start or segment.start >= end]
    return record if all(segment.is_framing for segment in others) else None


def records_of_author(question: str, index: OpenIndex) -> list[AnalyzedRecord]:
    """Return the records of the author whose whole name a question is, the newest first; none if it is no such name.

    A name whose words one record has in its title or text may be meant as a subject and is searched for, unless the
    question says ``author:`` or ``저자:`` before it.
    """
    if index.authors is None or len(question) > _LONGEST_NAME or len(question.split()) > _MOST_WORDS:
        return []
    name, labels = _AUTHOR_LABEL.subn("", question.strip(), count=1)
    docids = next(filter(None, (index.authors.newest_of_author(each, _MOST_OF_AUTHOR) for each in _orders(name))), [])
    if not docids or (not labels and _is_subject(name, index)):
        return []
    return [record for record in index.store.fetch(docids) if record is not None]


def _orders(name: str) -> list[str]:
    """Return a name as it is, and with its family name at the other end (Kim, Minsu for Minsu Kim)."""
    family, comma, given = (part.strip() for part in name.partition(","))
    if comma:
        return [name, f"{given} {family}"]
    given, blank, family = name.rpartition(" ")
    return [name, f"{family}, {given}"] if blank else [name]


def _is_subject(name: str, index: OpenIndex) -> bool:
    terms = index.analyzer.terms([name])[0]
    return index.searcher.count_hits([And(tuple(map(Term, terms)))], 1) == [1]


def show_known_items(request: Request, items: KnownItems, resources: Resources) -> Generator[Event, None, None]:
    """Yield the events of a search that found the records, and of the answer: what the record named says.

    No language model is asked: who names a record wants to read it. Of an author the answer says only whose records
    these are.
    """
    timer = StageTimer()
    with timer.stage("search"):
        docids = tuple(each.record.docid for each in items.records)
        incomplete = tuple(each.record.docid for each in items.records if not each.record.complete)
        scored = [ScoredRecord(each, 1.0, rank) for rank, each in enumerate(items.records, 1)]
        ranked = rank_records(scored, request)
        certain = Confidence(1.0, "high", (), THRESHOLD) if items.named_by == "identifier" else None
        more = has_more(scored, ranked, request)
        ranking = Ranking(ranked, items.named_by, reranker_is_model=False, confidence=certain, more=more)
        title = analyze_question(ranked[0].record.title, resources.index.analyzer, resources.index.searcher)
    found = RetrievalResult(
        query_terms(title), Keywords((), ()), Queries(()), Hits((), docids, incomplete), ranking, items.records
    )
    yield from found.events
    if items.named_by == "identifier":
        yield from answer(request, found, Resources(resources.index, resources.reranker), timer)
        return
    if request.wants_answer:
        yield refuse(request.question, ranking, "names_author")
    yield Timings(timer.seconds)
