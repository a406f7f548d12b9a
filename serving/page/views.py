"""Template contexts of the records found and of the trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.analyzed_record import RecordStore
from shrag.indexing.record_filter import NO_FACETS, FacetCounts
from shrag.serving.answering.formats import REASONS, page_text
from shrag.serving.events import Hits, RankedRecord
from shrag.serving.page.diagrams import bar_lengths, model_work, rank_changes, stage_shares
from shrag.serving.page.facets import filter_choices
from shrag.serving.page.request import PageRequest
from shrag.serving.page.snippets import (
    LONGEST_NAME,
    LONGEST_TITLE,
    Segment,
    join_names,
    mark_matches,
    matched_passage,
    shorten,
)
from shrag.serving.page.start import strategy_view
from shrag.serving.page.state import PageState
from shrag.serving.request import deepest_rank

SHOWN_AUTHORS = 3
"""Maximum number of authors that are named of a record."""

_SHOWN_MATCHES = 8
_SHOWN_OTHERS = 5
_SHOWN_INCOMPLETE = 20


def records_view(state: PageState, request: PageRequest, analyzer: Analyzer) -> dict[str, Any] | None:
    """Return the context of the list of records, or None if they are not ranked yet."""
    if state.ranking is None:
        return None
    numbers = {citation.docid: citation.number for citation in state.answer.citations} if state.answer else {}
    terms = state.matching_terms(analyzer)
    records = [_record_view(each, numbers, terms, analyzer, request) for each in state.ranking.records]
    counts = state.facets.counts if state.facets is not None else NO_FACETS
    last = request.offset + len(records)
    before, reason = max(0, request.offset - request.k) if records else 0, state.ranking.reason
    more = state.ranking.more and _may_have_more(state.hits, counts, last)
    may_go_on = last <= deepest_rank(request.k) - request.k
    return {
        "records": records,
        # The counts have only hits by words, and vectors may find more records.
        "total": max(counts.total, last if records else 0),
        "choices": filter_choices(counts, request.record_filter),
        "last": last,
        "reason": REASONS[request.language][reason] if request.offset and reason else "",
        "before_url": request.url(offset=before) if request.offset else "",
        "next_url": request.url(offset=last) if more and may_go_on else "",
        "ends": more and not may_go_on,
    }


def _may_have_more(hits: Hits | None, counts: FacetCounts, last: int) -> bool:
    """Return whether more than ``last`` records were found. Not all records that vectors find are counted."""
    return hits is None or bool(hits.dense) or max(counts.total, len(hits.candidates)) > last


def trace_view(state: PageState, request: PageRequest, store: RecordStore) -> dict[str, Any]:
    """Return the context of the trace, as far as it is known. An event that has not come yet is None.

    ``store`` has the titles of the records that were left out as incomplete.
    """
    records = state.ranking.records if state.ranking else ()
    cited = {citation.docid for citation in state.answer.citations} if state.answer else set()
    strategy = strategy_view(request.strategy, request.language)
    return {
        "strategy": strategy,
        "or_queries": not strategy["pipeline"] and request.strategy != "bm25",
        "keywords": state.keywords,
        "queries": _query_views(state.queries.queries if state.queries else (), state.hits),
        "hits": state.hits,
        "incomplete": _incomplete_views(state.hits, request, store),
        "ranking": state.ranking,
        "rank_changes": rank_changes(records, cited),
        "model_calls": model_work(state.model_calls),
        "stages": stage_shares(state.timings.seconds) if state.timings else [],
    }


def _incomplete_views(hits: Hits | None, request: PageRequest, store: RecordStore) -> list[dict[str, str]]:
    """Return the title and the URL of each record that was left out; its docid replaces a missing title."""
    docids = hits.incomplete[:_SHOWN_INCOMPLETE] if hits is not None else ()
    titles = [each.record.title if each is not None else "" for each in store.fetch(docids)] if docids else []
    return [
        {"title": shorten(title or docid, LONGEST_TITLE), "url": request.record_url(docid)}
        for docid, title in zip(docids, titles, strict=True)
    ]


def _record_view(
    ranked: RankedRecord, numbers: Mapping[str, int], terms: frozenset[str], analyzer: Analyzer, request: PageRequest
) -> dict[str, Any]:
    record = ranked.record
    title = mark_matches(shorten(record.title or record.docid, LONGEST_TITLE), terms, analyzer)
    passage = matched_passage(record.text, terms, analyzer)
    return {
        "rank": ranked.rank,
        "candidate_rank": ranked.candidate_rank,
        "score": ranked.score,
        "cited": numbers.get(record.docid),
        "docid": record.docid,
        "url": request.record_url(record.docid),
        "plain_url": replace(request, question=None).record_url(record.docid),
        "duplicates": [(docid, request.record_url(docid)) for docid in ranked.duplicates[:_SHOWN_OTHERS]],
        "language": record.language,
        "title": title,
        "authors": join_names(record.authors, SHOWN_AUTHORS),
        "journal": shorten(record.journal, LONGEST_NAME),
        "year": record.year,
        "page": page_text(record.page, request.language),
        "matched": _matched_words([*title, *passage]),
        "snippet": passage,
        "more": "".join(segment.text for segment in passage) != record.text,
    }


def _matched_words(segments: Iterable[Segment]) -> list[str]:
    """Return the words of the text that match, each once, the most frequent first."""
    words = Counter(segment.text.casefold() for segment in segments if segment.matched)
    return [shorten(word, LONGEST_NAME) for word, _ in words.most_common(_SHOWN_MATCHES)]


def _query_views(queries: Sequence[tuple[str, ...]], hits: Hits | None) -> list[dict[str, Any]]:
    """Return each query with the number of records that no query before it found. Equal queries count as one.

    ``added`` is that number, and None before the queries have run.
    """
    if hits is None:
        return [{"keywords": keywords, "added": None, "length": 0.0} for keywords in dict.fromkeys(queries)]
    found: set[str] = set()
    added: Counter[tuple[str, ...]] = Counter()
    for keywords, documents in zip(queries, hits.hits, strict=True):
        docids = {document.docid for document in documents}
        added[keywords] += len(docids - found)
        found |= docids
    lengths = bar_lengths(list(added.values()))
    return [
        {"keywords": keywords, "added": count, "length": length}
        for (keywords, count), length in zip(added.items(), lengths, strict=True)
    ]
