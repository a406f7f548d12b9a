"""Show the records that a question names by an identifier or by an author, instead of searching for the question."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from typing import Literal, NamedTuple

from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.record_filter import FacetCounts, RecordFilter, count_records
from shrag.indexing.translation.query_translation import analyze_question
from shrag.serving.answering.answer import StageTimer, answer
from shrag.serving.answering.refusal import refuse
from shrag.serving.events import Confidence, Event, Facets, Hits, Keywords, Queries, Ranking, Timings
from shrag.serving.request import Request
from shrag.serving.retrieval.confidence import THRESHOLD
from shrag.serving.retrieval.named_authors import NamedAuthors, authors_event
from shrag.serving.retrieval.query_terms import query_terms
from shrag.serving.retrieval.ranking import RetrievalResult, ScoredRecord, has_more, rank_records
from shrag.serving.strategy import Resources

# Text without a space and with a digit: ART001758158, 10.1000/182, 1234#5. A particle behind it is no part of it.
_IDENTIFIER = re.compile(r"(?=[!-~]*\d)[A-Za-z0-9][!-~]{3,}")
_PUNCTUATION = ".,;:?!)]}>\"'"
_MOST_LOOKED_UP = 3

_MOST_OF_AUTHORS = 1_000  # records that are listed: no page goes beyond this rank


class KnownItems(NamedTuple):
    """The records that a question names and the request's filter passes, best first.

    Attributes:
        named_by: How the question names them.
        records: The records; there is at least one.
        authors: The authors that the question names.
    """

    named_by: Literal["identifier", "author"]
    records: Sequence[AnalyzedRecord]
    authors: NamedAuthors | None = None


def find_known_items(request: Request, index: OpenIndex, authors: NamedAuthors | None) -> KnownItems | None:
    """Return the records that a question names, None if it names none or if its filter lets none of them pass.

    Args:
        request: The request.
        index: The index.
        authors: The authors that the question names.
    """
    record = find_named_record(request.question.text, index)
    if record is not None and request.record_filter.passes(record.record):
        return KnownItems("identifier", [record])
    if authors is None or not authors.certain or authors.topic or index.authors is None:
        return None
    newest = index.authors.newest_of_authors(authors.names, _MOST_OF_AUTHORS, request.record_filter)
    found = [each for each in index.store.fetch(newest) if each is not None]
    return KnownItems("author", found, authors) if found else None


def find_named_record(question: str, index: OpenIndex) -> AnalyzedRecord | None:
    """Return the record whose docid a question has, None if the question has none or other words to search for.

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


def show_known_items(request: Request, items: KnownItems, resources: Resources) -> Generator[Event, None, None]:
    """Yield the events of a search that found the records, and of the answer, which quotes the named record.

    No language model is asked, since a user who names a record wants to read it. For an author, the answer only says
    whose records these are.
    """
    timer = StageTimer()
    with timer.stage("search"):
        records = items.records
        docids = tuple(each.record.docid for each in records)
        incomplete = tuple(each.record.docid for each in records if not each.record.complete)
        scored = [ScoredRecord(each, 1.0, rank) for rank, each in enumerate(records, 1)]
        ranked = rank_records(scored, request)
        certain = Confidence(1.0, "high", (), THRESHOLD) if items.named_by == "identifier" else None
        more = has_more(scored, ranked, request)
        ranking = Ranking(ranked, items.named_by, reranker_is_model=False, confidence=certain, more=more)
        title = analyze_question(ranked[0].record.title, resources.index.analyzer, resources.index.searcher)
    found = RetrievalResult(
        query_terms(title), Keywords((), ()), Queries(()), Hits((), docids, incomplete), ranking, records
    )
    if items.authors is not None and not request.record_filter.author:
        yield authors_event(items.authors, "listed", resources.index)
    yield from found.events
    if request.facets:
        yield Facets(_count(request.record_filter, items, resources.index))
    if items.named_by == "identifier":
        yield from answer(request, found, Resources(resources.index, resources.reranker), timer)
        return
    if request.wants_answer:
        yield refuse(request.question, ranking, "names_author")
    yield Timings(timer.seconds)


def _count(record_filter: RecordFilter, items: KnownItems, index: OpenIndex) -> FacetCounts:
    """Return the counts over all records that a question names, which may be more than are listed."""
    if items.authors is not None and index.authors is not None:
        return index.authors.facets_of_authors(items.authors.names, record_filter)
    return count_records([each.record for each in items.records], record_filter)
