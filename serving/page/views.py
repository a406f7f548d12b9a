"""Template contexts of the answer, the records and the trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shrag.corpora.records import Record
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.serving.answering.formats import FALLBACKS, HEADINGS, ISSUES, REASONS, answer_text
from shrag.serving.events import Answer, Citation, Hits, RankedRecord, Sentence
from shrag.serving.page.citation_export import reference_line
from shrag.serving.page.diagrams import bar_lengths, model_work, rank_changes, stage_shares
from shrag.serving.page.facets import facets_of, kind_of
from shrag.serving.page.request import Filters, PageRequest
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
from shrag.serving.page.state import PageState, answer_language
from shrag.serving.request import AnswerLanguage

_SHOWN_AUTHORS = 3
_SHOWN_MATCHES = 8
_SHOWN_OTHERS = 5
_COPIED_AUTHORS = 20

LONGEST_SENTENCE = 1_000
"""Characters of a sentence that are shown; a model may write one without an end."""

MOST_SENTENCES = 60
"""Sentences of a part that are shown; a model may write as many as it likes."""

LONGEST_ANSWER = 50_000
"""Characters of an answer that are copied."""


def answer_view(state: PageState, request: PageRequest) -> dict[str, Any] | None:
    """Return the context of the answer, None where there is none yet."""
    answer, ranking = state.answer, state.ranking
    if answer is None or ranking is None:
        return None
    language = answer_language(state, request)
    ranked = {each.record.docid: each for each in ranking.records}
    citations = {citation.number: _citation_view(citation, ranked, request.filters) for citation in answer.citations}
    return {
        "language": language,
        "reason": REASONS[language][answer.reason] if answer.reason else "",
        "kind": "none" if answer.reason else answer.kind,
        "model": answer.model,
        "truncated": not answer.complete,
        "cached": state.cached,
        "unsupported": sum(not sentence.supported for section in answer.sections for sentence in section.sentences),
        "fallbacks": [
            {"purpose": purpose, "message": FALLBACKS[request.language][cause]}
            for purpose, cause in dict.fromkeys((fallback.stage, fallback.cause) for fallback in state.fallbacks)
        ],
        "sections": [
            {
                "part": section.part,
                "heading": section.source.title if section.source else HEADINGS[answer.language][section.part],
                "sentences": [
                    sentence_view(
                        sentence, answer.language, [citations[n] for n in sentence.citations if n in citations]
                    )
                    for sentence in section.sentences[:MOST_SENTENCES]
                ],
            }
            for section in answer.sections
        ],
        "sources": list(citations.values()),
        "text": shorten(_copied_text(answer, ranked), LONGEST_ANSWER),
    }


def sentence_view(
    sentence: Sentence, language: AnswerLanguage, citations: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the context of a sentence with the views of its citations."""
    return {
        "text": shorten(sentence.text, LONGEST_SENTENCE),
        "issue": ISSUES[language][sentence.issue] if sentence.issue else "",
        "citations": citations,
    }


def records_view(state: PageState, request: PageRequest, analyzer: Analyzer) -> dict[str, Any] | None:
    """Return the context of the list of records, None where they are not ranked yet."""
    if state.ranking is None:
        return None
    numbers = {citation.docid: citation.number for citation in state.answer.citations} if state.answer else {}
    terms = state.matching_terms(analyzer)
    records = [_record_view(each, numbers, terms, analyzer, request) for each in state.ranking.records]
    shown = sum(record["shown"] for record in records)
    return {
        "closest": bool(state.ranking.reason or (state.answer and state.answer.reason)),
        "records": records,
        "shown": shown,
        "hidden": len(records) - shown,
        "facets": facets_of([each.record for each in state.ranking.records]),
    }


def trace_view(state: PageState, request: PageRequest) -> dict[str, Any]:
    """Return the context of the trace, as far as it is known; an event that has not happened is None."""
    records = state.ranking.records if state.ranking else ()
    cited = {citation.docid for citation in state.answer.citations} if state.answer else set()
    strategy = strategy_view(request.strategy, request.language)
    return {
        "strategy": strategy,
        "or_queries": not strategy["pipeline"] and request.strategy != "bm25",
        "keywords": state.keywords,
        "queries": _query_views(state.queries.queries if state.queries else (), state.hits),
        "hits": state.hits,
        "ranking": state.ranking,
        "rank_changes": rank_changes(records, cited),
        "model_calls": model_work(state.model_calls),
        "stages": stage_shares(state.timings.seconds) if state.timings else [],
    }


def _citation_view(citation: Citation, ranked: Mapping[str, RankedRecord], filters: Filters) -> dict[str, Any]:
    cited = ranked[citation.docid]
    return {
        "number": citation.number,
        "rank": cited.rank,
        "shown": filters.matches(cited.record),
        "title": shorten(citation.title or citation.docid, LONGEST_TITLE),
        "tooltip": shorten(citation.title, LONGEST_NAME),
        "docid": citation.docid,
    }


def _copied_text(answer: Answer, ranked: Mapping[str, RankedRecord]) -> str:
    """Return the answer as it is copied: its text, then a reference for each record cited."""
    lines = [f"[{each.number}] {_short_reference(ranked[each.docid].record)}" for each in answer.citations]
    return "\n\n".join(filter(None, (answer_text(answer), "\n".join(lines))))


def _short_reference(record: Record) -> str:
    authors = tuple(shorten(author, LONGEST_NAME) for author in record.authors[:_COPIED_AUTHORS])
    title, journal = shorten(record.title, LONGEST_TITLE), shorten(record.journal, LONGEST_NAME)
    return reference_line(replace(record, title=title, authors=authors, journal=journal))


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
        "shown": request.filters.matches(record),
        "docid": record.docid,
        "url": request.record_url(record.docid),
        "plain_url": replace(request, question=None).record_url(record.docid),
        "duplicates": [(docid, request.record_url(docid)) for docid in ranked.duplicates[:_SHOWN_OTHERS]],
        "kind": kind_of(record),
        "language": record.language,
        "title": title,
        "authors": join_names(record.authors, _SHOWN_AUTHORS),
        "journal": shorten(record.journal, LONGEST_NAME),
        "year": record.year,
        "matched": _matched_words([*title, *passage]),
        "snippet": passage,
        "more": "".join(segment.text for segment in passage) != record.text,
    }


def _matched_words(segments: Iterable[Segment]) -> list[str]:
    """Return the words of the text that match, each once, the most frequent first."""
    words = Counter(segment.text.casefold() for segment in segments if segment.matched)
    return [shorten(word, LONGEST_NAME) for word, _ in words.most_common(_SHOWN_MATCHES)]


def _query_views(queries: Sequence[tuple[str, ...]], hits: Hits | None) -> list[dict[str, Any]]:
    """Return each query with the number of records that no query before it found; equal queries are one.

    ``added`` is None before the queries are run.
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
