"""Template contexts of the answer: quoted records, sections, citations, confidence, and the reason of a refusal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, NamedTuple

from shrag.corpora.records import Record
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.serving.answering.formats import (
    AUTHORS_ROLES,
    CONFIDENCE_LEVELS,
    FALLBACKS,
    HEADINGS,
    ISSUES,
    REASONS,
    answer_text,
    authors_heading,
    for_reader,
    listing_line,
    page_text,
)
from shrag.serving.events import Answer, AnswerPart, Citation, RankedRecord, Section, Sentence
from shrag.serving.page.request import PageRequest
from shrag.serving.page.snippets import (
    LONGEST_NAME,
    LONGEST_TITLE,
    abstract_parts,
    join_names,
    mark_matches,
    shorten,
)
from shrag.serving.page.state import PageState
from shrag.serving.page.views import SHOWN_AUTHORS
from shrag.serving.references.fields import reference_line
from shrag.serving.request import AnswerLanguage

_SHOWN_UNCOVERED = 8
_COPIED_AUTHORS = 20

LONGEST_SENTENCE = 1_000
"""Characters of a sentence that are shown. A model may write a sentence that does not end."""

MOST_SENTENCES = 60
"""Sentences of a part that are shown. A model may write any number of them."""

LONGEST_ANSWER = 50_000
"""Characters of an answer that are copied."""


def answer_view(state: PageState, request: PageRequest, analyzer: Analyzer) -> dict[str, Any] | None:
    """Return the context of the answer, or None if there is none yet.

    ``quoted`` are the records that an extractive answer quotes, the leading one first. ``related`` are the related
    records. ``sections`` are the other sections, which a model wrote.
    """
    if state.answer is None or state.ranking is None:
        return None
    answer, ranking = for_reader(state.answer, state.question, request.language), state.ranking
    ranked = {each.record.docid: each for each in ranking.records}
    context = _Context(request, ranked, state.matching_terms(analyzer), analyzer)
    citations = {citation.number: _citation_view(citation, context) for citation in answer.citations}
    written = [section for section in answer.sections if section.source is None]
    return {
        "language": answer.language,
        "reason": REASONS[answer.language][answer.reason] if answer.reason else "",
        "kind": "none" if answer.reason else answer.kind,
        "model": answer.model,
        "truncated": not answer.complete,
        "cached": state.cached,
        "confidence": _confidence_view(state, request),
        "uncovered": [shorten(word, LONGEST_NAME) for word in answer.uncovered[:_SHOWN_UNCOVERED]],
        "suggestion": answer.suggestion,
        "suggestion_url": replace(request, question=answer.suggestion).url() if answer.suggestion else "",
        # An author's records are in the list of records below the answer.
        "nearest": [
            _record_view(ranked[each.docid].record, context)
            for each in answer.nearest
            if answer.reason != "names_author"
        ],
        "quoted_language": answer.quoted_language,
        "uncertain": answer.uncertain,
        "listing": listing_line(answer, request.language),
        "unsupported": sum(not sentence.supported for section in answer.sections for sentence in section.sentences),
        "follow_up": state.follow_up.question if state.follow_up is not None else "",
        "authors": _authors_view(state, request),
        "fallbacks": [
            {"purpose": purpose, "message": FALLBACKS[request.language][cause]}
            for purpose, cause in dict.fromkeys((fallback.stage, fallback.cause) for fallback in state.fallbacks)
        ],
        "quoted": [_quotation_view(section, citations, context) for section in _quoting(answer, "record")],
        "related": [_quotation_view(section, citations, context) for section in _quoting(answer, "related")],
        "sections": [
            {
                "part": section.part,
                "heading": HEADINGS[answer.language][section.part],
                "sentences": [
                    sentence_view(
                        sentence, answer.language, [citations[n] for n in sentence.citations if n in citations]
                    )
                    for sentence in section.sentences[:MOST_SENTENCES]
                ],
            }
            for section in written
        ],
        "sources": list(citations.values()),
        "text": shorten(_copied_text(answer, ranked), LONGEST_ANSWER),
    }


def sentence_view(
    sentence: Sentence, language: AnswerLanguage, citations: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the context of a sentence; ``citations`` are the contexts of its citations."""
    return {
        "text": shorten(sentence.text, LONGEST_SENTENCE),
        "issue": ISSUES[language][sentence.issue] if sentence.issue else "",
        "citations": citations,
    }


class _Context(NamedTuple):
    """What all views of an answer's parts need: among others, the ranked records by docid and the terms to mark."""

    request: PageRequest
    ranked: Mapping[str, RankedRecord]
    terms: AbstractSet[str]
    analyzer: Analyzer


def _confidence_view(state: PageState, request: PageRequest) -> dict[str, str] | None:
    """Return the level of the confidence and its name, or None if there is no confidence."""
    if state.ranking is None or state.ranking.confidence is None:
        return None
    level = state.ranking.confidence.level
    return {"level": level, "name": CONFIDENCE_LEVELS[request.language][level]}


def _authors_view(state: PageState, request: PageRequest) -> dict[str, Any] | None:
    """Return the authors that the question names, each with a URL that filters by the name; None if it names none."""
    if state.authors is None:
        return None
    authors, chosen = state.authors, request.record_filter
    return {
        "heading": authors_heading(authors, request.language),
        "names": [
            (shorten(name, LONGEST_NAME), replace(request, record_filter=replace(chosen, author=(name,))).url())
            for name in authors.names
        ],
        "more": authors.count > len(authors.names),
        "role": AUTHORS_ROLES[request.language][authors.role],
    }


def _quoting(answer: Answer, part: AnswerPart) -> list[Section]:
    return [section for section in answer.sections if section.part == part and section.source is not None]


def _quotation_view(section: Section, citations: Mapping[int, Mapping[str, Any]], context: _Context) -> dict[str, Any]:
    """Return the context of a section that quotes one record, the section's source."""
    source = section.source
    if source is None:
        raise ValueError(f"The section {section.part} has no source: it quotes no record.")
    record = context.ranked[source.docid].record
    sentences = [shorten(sentence.text, LONGEST_SENTENCE) for sentence in section.sentences[:MOST_SENTENCES]]
    text = " ".join(sentences) if section.part == "related" else record.text
    parts = abstract_parts(text, sentences, context.terms, context.analyzer)
    shown = "".join(segment.text for part in parts for segment in part.segments)
    return {
        **_record_view(record, context),
        "citation": citations[source.number],
        "parts": parts,
        "has_rest": not all(part.quoted for part in parts),
        "more": shown != record.text,
    }


def _record_view(record: Record, context: _Context) -> dict[str, Any]:
    """Return the context of a record's title, and of the line below it."""
    return {
        "docid": record.docid,
        "url": context.request.record_url(record.docid),
        "title": mark_matches(shorten(record.title or record.docid, LONGEST_TITLE), context.terms, context.analyzer),
        "authors": join_names(record.authors, SHOWN_AUTHORS),
        "journal": shorten(record.journal, LONGEST_NAME),
        "year": record.year,
        "page": page_text(record.page, context.request.language),
        "language": record.language,
    }


def _citation_view(citation: Citation, context: _Context) -> dict[str, Any]:
    cited = context.ranked[citation.docid]
    return {
        "number": citation.number,
        "rank": cited.rank,
        "title": shorten(citation.title or citation.docid, LONGEST_TITLE),
        "tooltip": shorten(citation.title, LONGEST_NAME),
        "docid": citation.docid,
        "page": page_text(citation.page, context.request.language),
    }


def _copied_text(answer: Answer, ranked: Mapping[str, RankedRecord]) -> str:
    """Return the answer as a reader copies it: its text, then a reference for each cited record."""
    lines = [f"[{each.number}] {_short_reference(ranked[each.docid].record)}" for each in answer.citations]
    return "\n\n".join(filter(None, (answer_text(answer), "\n".join(lines))))


def _short_reference(record: Record) -> str:
    authors = tuple(shorten(author, LONGEST_NAME) for author in record.authors[:_COPIED_AUTHORS])
    title, journal = shorten(record.title, LONGEST_TITLE), shorten(record.journal, LONGEST_NAME)
    return reference_line(replace(record, title=title, authors=authors, journal=journal))
