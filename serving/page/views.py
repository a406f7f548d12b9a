"""Template contexts of answer, records and trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shrag.corpora.records import Record
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.serving.answering.formats import FALLBACKS, HEADINGS, ISSUES, REASONS, answer_text
from shrag.serving.events import Answer, AnswerPart, Hits, RankedRecord, Sentence
from shrag.serving.page.citation_export import reference_line
from shrag.serving.page.diagrams import bar_lengths, model_work, ranking_lines, stage_shares
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


def answer_view(seen: PageState, asked: PageRequest) -> dict[str, Any] | None:
    """Return the answer's part of the page, None where there is none yet."""
    answer, ranking = seen.answer, seen.ranking
    if answer is None or ranking is None:
        return None
    language = answer_language(seen, asked)
    ranked = {each.record.docid: each for each in ranking.records}
    return {
        "language": language,
        "reason": REASONS[language][answer.reason] if answer.reason else "",
        "kind": "none" if answer.reason else answer.kind,
        "model": answer.model,
        "truncated": not answer.complete,
        "cached": seen.cached,
        "unsupported": sum(not sentence.supported for section in answer.sections for sentence in section.sentences),
        "fallbacks": [
            {"purpose": purpose, "message": FALLBACKS[asked.language][cause]}
            for purpose, cause in dict.fromkeys((fallback.stage, fallback.cause) for fallback in seen.fallbacks)
        ],
        "sections": _sections(answer, ranked, asked.filters),
        "sources": [
            {
                "number": citation.number,
                "rank": ranked[citation.docid].rank,
                "shown": asked.filters.matches(ranked[citation.docid].record),
                "title": shorten(citation.title or citation.docid, LONGEST_TITLE),
                "docid": citation.docid,
            }
            for citation in answer.citations
        ],
        "text": shorten(_copied(answer, ranked), LONGEST_ANSWER),
    }


def sentence_view(part: AnswerPart, sentence: Sentence, language: AnswerLanguage) -> dict[str, Any]:
    """Return a sentence as it is shown before the answer is whole: its citations lead nowhere yet."""
    return {
        "part": part,
        "heading": HEADINGS[language][part],
        "text": shorten(sentence.text, LONGEST_SENTENCE),
        "issue": ISSUES[language][sentence.issue] if sentence.issue else "",
        "marks": [{"number": number, "rank": None} for number in sentence.citations],
    }


def records_view(seen: PageState, asked: PageRequest, analyzer: Analyzer) -> dict[str, Any] | None:
    """Return the list of the records found, None where they are not ranked yet."""
    if seen.ranking is None:
        return None
    numbers = {citation.docid: citation.number for citation in seen.answer.citations} if seen.answer else {}
    terms = seen.matching_terms(analyzer)
    records = [_record(each, numbers, terms, analyzer, asked) for each in seen.ranking.records]
    shown = sum(record["shown"] for record in records)
    return {
        "closest": bool(seen.ranking.reason or (seen.answer and seen.answer.reason)),
        "records": records,
        "shown": shown,
        "hidden": len(records) - shown,
        "facets": facets_of([each.record for each in seen.ranking.records]),
    }


def trace_view(seen: PageState, asked: PageRequest) -> dict[str, Any]:
    """Return how the records were found, as far as it is known."""
    keywords, hits, ranking = seen.keywords, seen.hits, seen.ranking
    queries = _query_views(seen.queries.queries if seen.queries else (), hits)
    cited = {citation.docid for citation in seen.answer.citations} if seen.answer else set()
    strategy = strategy_view(asked.strategy, asked.language)
    return {
        "strategy": strategy,
        "or_queries": not strategy["pipeline"] and asked.strategy != "bm25",
        "keywords": keywords.keywords if keywords else (),
        "keyword_model": keywords.model if keywords else "",
        "keyword_order": keywords.order if keywords else "tfidf",
        "translations": any(keyword.translations for keyword in keywords.keywords) if keywords else False,
        "unknown": keywords.unknown if keywords else (),
        "queries": queries,
        "candidates": len(hits.candidates) if hits else None,
        "incomplete": hits.incomplete if hits else (),
        "reranker": ranking.reranker if ranking else "",
        "reranker_is_model": ranking.reranker_is_model if ranking else False,
        "rank_changes": ranking_lines(ranking.records, cited) if ranking else [],
        "model_calls": model_work(seen.model_calls),
        "stages": stage_shares(seen.timings.seconds) if seen.timings else [],
    }


def _sections(answer: Answer, ranked: Mapping[str, RankedRecord], filters: Filters) -> list[dict[str, Any]]:
    cited = {citation.number: citation for citation in answer.citations}
    return [
        {
            "part": section.part,
            "heading": HEADINGS[answer.language][section.part],
            "sentences": [
                {
                    "text": shorten(sentence.text, LONGEST_SENTENCE),
                    "issue": ISSUES[answer.language][sentence.issue] if sentence.issue else "",
                    "marks": [
                        {
                            "number": number,
                            "rank": ranked[cited[number].docid].rank,
                            "shown": filters.matches(ranked[cited[number].docid].record),
                            "title": shorten(cited[number].title, LONGEST_NAME),
                        }
                        for number in sentence.citations
                        if number in cited
                    ],
                }
                for sentence in section.sentences[:MOST_SENTENCES]
            ],
        }
        for section in answer.sections
    ]


def _copied(answer: Answer, ranked: Mapping[str, RankedRecord]) -> str:
    """Return the answer as it is copied: its text, then a line for each record cited."""
    lines = [f"[{c.number}] {reference_line(_brief(ranked[c.docid].record))}" for c in answer.citations]
    return "\n\n".join(filter(None, (answer_text(answer), "\n".join(lines))))


def _brief(record: Record) -> Record:
    return replace(
        record,
        title=shorten(record.title, LONGEST_TITLE),
        authors=tuple(shorten(author, LONGEST_NAME) for author in record.authors[:_COPIED_AUTHORS]),
        journal=shorten(record.journal, LONGEST_NAME),
    )


def _record(
    ranked: RankedRecord, numbers: Mapping[str, int], terms: frozenset[str], analyzer: Analyzer, asked: PageRequest
) -> dict[str, Any]:
    record = ranked.record
    title = mark_matches(shorten(record.title or record.docid, LONGEST_TITLE), terms, analyzer)
    passage = matched_passage(record.text, terms, analyzer)
    return {
        "rank": ranked.rank,
        "candidate_rank": ranked.candidate_rank,
        "score": ranked.score,
        "cited": numbers.get(record.docid),
        "shown": asked.filters.matches(record),
        "docid": record.docid,
        "url": asked.record_url(record.docid),
        "plain_url": replace(asked, question=None).record_url(record.docid),
        "also": [(docid, asked.record_url(docid)) for docid in ranked.duplicates[:_SHOWN_OTHERS]],
        "kind": kind_of(record),
        "language": record.language,
        "title": title,
        "authors": join_names(record.authors, _SHOWN_AUTHORS),
        "journal": shorten(record.journal, LONGEST_NAME),
        "year": record.year,
        "matched": _matched([*title, *passage]),
        "snippet": passage,
        "more": "".join(segment.text for segment in passage) != record.text,
    }


def _matched(segments: Iterable[Segment]) -> list[str]:
    """Return the words of the text that match, each once, the most frequent first."""
    words = Counter(segment.text.casefold() for segment in segments if segment.matched)
    return [shorten(word, LONGEST_NAME) for word, _ in words.most_common(_SHOWN_MATCHES)]


def _query_views(queries: Sequence[Iterable[str]], hits: Hits | None) -> list[dict[str, Any]]:
    """Return each query with how many records it found that none before it had; queries that read alike as one.

    ``added`` is None before the queries are run.
    """
    if hits is None:
        return [{"keywords": list(words), "added": None, "length": 0.0} for words in dict.fromkeys(map(tuple, queries))]
    seen: set[str] = set()
    added_by: dict[tuple[str, ...], int] = {}
    for words, found in zip(queries, hits.hits, strict=True):
        docids = {hit.docid for hit in found}
        shown = tuple(words)
        added_by[shown] = added_by.get(shown, 0) + len(docids - seen)
        seen |= docids
    lengths = bar_lengths(list(added_by.values()))
    return [
        {"keywords": list(words), "added": added, "length": length}
        for (words, added), length in zip(added_by.items(), lengths, strict=True)
    ]
