"""Replies of the MCP tools, limited in size, and their text form.

A model reads all of a reply. So each record found has at most 2 KB of JSON, and a document is read page by page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from shrag.corpora.records import Record
from shrag.indexing.record_filter import FacetCounts
from shrag.serving.agents.connector import ConnectorResult, cut_to_json, results_of
from shrag.serving.answering.formats import (
    ISSUES,
    answer_label,
    answer_text,
    authors_lines,
    follow_up_line,
    title_and_page,
)
from shrag.serving.events import (
    AnswerPart,
    Confidence,
    EmptyReason,
    ListingKind,
    NearestRecord,
    RankedRecord,
    SentenceIssue,
)
from shrag.serving.request import AnswerLanguage
from shrag.serving.results import AskResult, SearchResult
from shrag.serving.runtime.index_registry import ServedIndex

MOST_RECORD_BYTES = 2_048
MOST_ANSWER_BYTES = 16_384
PAGE_CHARACTERS = 8_000

_MOST_SENTENCES = 60
_MOST_SENTENCE_BYTES = 1_024
_MOST_LINE_BYTES = 240
_MOST_AUTHORS = 5
_MOST_NAME_BYTES = 48


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A record found. ``truncated`` says that not all of its text is here: get_document has the rest."""

    rank: int
    docid: str
    score: float
    title: str
    text: str
    truncated: bool
    language: str
    year: int | None
    journal: str
    authors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchReply:
    """The records found, best first.

    ``reason`` and its sentence ``message`` say why there are no records, and are empty if there are some. ``results``
    are the same records for clients that go on with ``fetch``. ``cached`` says that they were found for the same
    question before. ``confidence`` says how likely the best record answers; None if that is not known. ``facets`` are
    the counts over all hits; None unless they were asked for. ``read_as`` says how a follow-up question was read and
    which authors the question names; empty if neither applies.
    """

    index: str
    index_generation: int
    strategy: str
    language: AnswerLanguage
    keywords: tuple[str, ...]
    reason: EmptyReason
    message: str
    records: tuple[SearchHit, ...]
    confidence: Confidence | None
    facets: FacetCounts | None
    results: tuple[ConnectorResult, ...]
    cached: bool
    read_as: str


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence of an answer and the numbers of the records it cites; ``issue`` says which check it failed."""

    part: AnswerPart
    text: str
    citations: tuple[int, ...]
    supported: bool
    issue: SentenceIssue


@dataclass(frozen=True, slots=True)
class CitedRecord:
    """A record of an answer, under the number it is cited by."""

    number: int
    docid: str
    title: str
    page: str


@dataclass(frozen=True, slots=True)
class AskReply:
    """An answer; most fields are those of :class:`~shrag.serving.events.Answer`.

    Attributes:
        label: Says who wrote the answer, as ``kind`` does, in words.
        answer: The text of the answer, or why there is none.
        sentences: The sentences with their citations, and the check that each failed.
        confidence: How likely the best record answers; None if that is not known.
        fallbacks: What was done without the language model, because it failed.
        cached: Whether the answer was made for the same question before.
        read_as: How a follow-up question was read, and which authors the question names; empty if neither applies.
    """

    index: str
    index_generation: int
    strategy: str
    language: AnswerLanguage
    kind: str
    label: str
    complete: bool
    citation_precision: float | None
    reason: EmptyReason
    answer: str
    sentences: tuple[CitedSentence, ...]
    citations: tuple[CitedRecord, ...]
    nearest: tuple[NearestRecord, ...]
    uncovered: tuple[str, ...]
    quoted_language: AnswerLanguage | None
    uncertain: bool
    listing: ListingKind
    suggestion: str
    confidence: Confidence | None
    fallbacks: tuple[str, ...]
    cached: bool
    read_as: str


@dataclass(frozen=True, slots=True)
class DocumentReply:
    """A page of a record: its ``text`` from the character ``offset`` on; the whole text has ``characters``.

    The next page begins at ``next_offset``, which is None on the last page.
    """

    index: str
    index_generation: int
    docid: str
    title: str
    text: str
    offset: int
    characters: int
    next_offset: int | None
    language: str
    year: int | None
    journal: str
    publisher: str
    authors: tuple[str, ...]
    keywords: tuple[str, ...]
    link: str
    doi: str
    volume: str
    issue: str
    pages: str
    type: str
    complete: bool


@dataclass(frozen=True, slots=True)
class IndexesReply:
    """The served indexes. The first answers if a call names none."""

    indexes: tuple[ServedIndex, ...]


def search_reply(result: SearchResult, named: str = "") -> SearchReply:
    """Return the reply of a search; ``named`` is the name of the index in URIs, which is empty for the first index."""
    return SearchReply(
        index=result.index,
        index_generation=result.generation,
        strategy=result.strategy,
        language=result.question.language,
        keywords=tuple(cut_to_json(keyword.text, _MOST_NAME_BYTES) for keyword in result.keywords.keywords),
        reason=result.ranking.reason,
        message=result.message,
        records=tuple(_search_hit(ranked) for ranked in result.ranking.records),
        confidence=result.ranking.confidence,
        facets=result.facets,
        results=results_of([ranked.record for ranked in result.ranking.records], named),
        cached=result.timings.cached,
        read_as=_read_as(result, result.question.language),
    )


def ask_reply(result: AskResult) -> AskReply:
    """Return the reply of an answer."""
    answer, search = result.answer, result.search
    said = [
        CitedSentence(
            section.part, cut_to_json(each.text, _MOST_SENTENCE_BYTES), each.citations, each.supported, each.issue
        )
        for section in answer.sections
        for each in section.sentences
    ]
    return AskReply(
        index=search.index,
        index_generation=search.generation,
        strategy=search.strategy,
        language=answer.language,
        kind=answer.kind,
        label=answer_label(answer),
        complete=answer.complete,
        citation_precision=answer.citation_precision,
        reason=answer.reason,
        answer=cut_to_json(answer_text(answer), MOST_ANSWER_BYTES),
        sentences=tuple(said[:_MOST_SENTENCES]),
        citations=tuple(
            CitedRecord(each.number, each.docid, cut_to_json(each.title, _MOST_LINE_BYTES), each.page)
            for each in answer.citations
        ),
        nearest=tuple(NearestRecord(each.docid, cut_to_json(each.title, _MOST_LINE_BYTES)) for each in answer.nearest),
        uncovered=answer.uncovered,
        quoted_language=answer.quoted_language,
        uncertain=answer.uncertain,
        listing=answer.listing,
        suggestion=answer.suggestion,
        confidence=search.ranking.confidence,
        fallbacks=tuple(cut_to_json(each.message, _MOST_LINE_BYTES) for each in search.fallbacks),
        cached=search.timings.cached,
        read_as=_read_as(search, answer.language),
    )


def _read_as(search: SearchResult, language: AnswerLanguage) -> str:
    lines = [follow_up_line(search.follow_up, language)] if search.follow_up is not None else []
    if search.authors is not None:
        lines += authors_lines(search.authors, language)
    return cut_to_json("\n".join(lines), _MOST_LINE_BYTES)


def document_reply(
    index: str, generation: int, record: Record, offset: int, most: int = PAGE_CHARACTERS
) -> DocumentReply:
    """Return the page of ``record`` that begins at the character ``offset`` and has at most ``most`` characters."""
    text = record.text[offset : offset + most]
    end = offset + len(text)
    return DocumentReply(
        index=index,
        index_generation=generation,
        docid=record.docid,
        title=cut_to_json(record.title, MOST_RECORD_BYTES),
        text=text,
        offset=offset,
        characters=len(record.text),
        next_offset=end if end < len(record.text) else None,
        language=record.language,
        year=record.year,
        journal=cut_to_json(record.journal, _MOST_LINE_BYTES),
        publisher=cut_to_json(record.publisher, _MOST_LINE_BYTES),
        authors=_first_authors(record.authors),
        keywords=tuple(cut_to_json(keyword, _MOST_NAME_BYTES) for keyword in record.keywords[:20]),
        link=cut_to_json(record.link, MOST_RECORD_BYTES),
        doi=cut_to_json(record.doi, _MOST_LINE_BYTES),
        volume=cut_to_json(record.volume, _MOST_NAME_BYTES),
        issue=cut_to_json(record.issue, _MOST_NAME_BYTES),
        pages=cut_to_json(record.pages, _MOST_NAME_BYTES),
        type=cut_to_json(record.type, _MOST_NAME_BYTES),
        complete=record.complete,
    )


def ask_text(reply: AskReply) -> str:
    """Return an answer as text: who wrote it, the answer, its unsupported sentences, and the records it cites.

    Before an answer and a refusal stand how the question was read, and what was done without the language model.
    """
    about = [*filter(None, (reply.read_as, *reply.fallbacks))]
    if reply.reason:
        return "\n".join([*about, *([""] if about else []), reply.answer])
    issues = [
        f"! {sentence.text} ({ISSUES[reply.language][sentence.issue]})"
        for sentence in reply.sentences
        if sentence.issue
    ]
    records = [
        f"[{cited.number}] {cited.docid} {title_and_page(cited.title, cited.page, reply.language)}"
        for cited in reply.citations
    ]
    return "\n".join([f"({reply.label})", *about, "", reply.answer, "", *issues, *records])


def document_text(reply: DocumentReply) -> str:
    """Return a page of a record as text."""
    rest = f"\n({reply.next_offset} of {reply.characters} characters; the next page has offset={reply.next_offset})"
    return f"{reply.docid} {reply.title}\n{reply.text}{rest if reply.next_offset is not None else ''}"


def indexes_text(reply: IndexesReply) -> str:
    """Return the list of indexes as text, with a line for each."""
    return "\n".join(
        f"{each.name}: " + (each.problem or f"{each.records} records, generation {each.generation}")
        for each in reply.indexes
    )


def _search_hit(ranked: RankedRecord) -> SearchHit:
    record = ranked.record
    found = SearchHit(
        rank=ranked.rank,
        docid=record.docid,
        score=round(ranked.score, 6),
        title=cut_to_json(record.title, _MOST_LINE_BYTES),
        text="",
        truncated=False,
        language=record.language,
        year=record.year,
        journal=cut_to_json(record.journal, _MOST_LINE_BYTES),
        authors=_first_authors(record.authors),
    )
    room = MOST_RECORD_BYTES - len(msgspec.json.encode(found))
    if room < _MOST_LINE_BYTES:
        found = replace(found, journal="", authors=())
        room = MOST_RECORD_BYTES - len(msgspec.json.encode(found))
    text = cut_to_json(record.text, room)
    return replace(found, text=text, truncated=text != record.text)


def _first_authors(authors: Sequence[str]) -> tuple[str, ...]:
    return tuple(cut_to_json(author, _MOST_NAME_BYTES) for author in authors[:_MOST_AUTHORS])
