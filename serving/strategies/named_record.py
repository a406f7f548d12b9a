"""A question that names a record by its identifier: that record is shown, and nothing is searched for."""

from __future__ import annotations

import re
from collections.abc import Generator

from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.translation.query_translation import analyze_question
from shrag.serving.answering.answer import StageTimer, answer
from shrag.serving.events import Confidence, Event, Hits, Keywords, Queries, Ranking
from shrag.serving.request import Request
from shrag.serving.retrieval.confidence import THRESHOLD
from shrag.serving.retrieval.query_terms import query_terms
from shrag.serving.retrieval.ranking import RetrievalResult, ScoredRecord, rank_records
from shrag.serving.strategy import Resources

# What has no space in it and a digit: ART001758158, 10.1000/182, 1234#5. A particle behind it (ART001758158을) is none.
_IDENTIFIER = re.compile(r"(?=[!-~]*\d)[A-Za-z0-9][!-~]{3,}")
_PUNCTUATION = ".,;:?!)]}>\"'"
_MOST_LOOKED_UP = 3


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


def show_named_record(request: Request, record: AnalyzedRecord, resources: Resources) -> Generator[Event, None, None]:
    """Yield the events of a search that found the record, and of an answer that quotes it.

    No language model is asked: who names a record wants what it says.
    """
    timer = StageTimer()
    with timer.stage("search"):
        title = analyze_question(record.record.title, resources.index.analyzer, resources.index.searcher)
        keywords, queries = Keywords((), ()), Queries(())
        hits = Hits((), (record.record.docid,), () if record.record.complete else (record.record.docid,))
        ranked = rank_records([ScoredRecord(record, 1.0, 1)], request)
        ranking = Ranking(
            ranked, "identifier", reranker_is_model=False, confidence=Confidence(1.0, "high", (), THRESHOLD)
        )
    found = RetrievalResult(query_terms(title), keywords, queries, hits, ranking, [record])
    yield from found.events
    yield from answer(request, found, Resources(resources.index, resources.reranker), timer)
