"""The page of a record."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from shrag.corpora.records import Record
from shrag.serving.api.service import find_record
from shrag.serving.engine import Engine
from shrag.serving.errors import QuestionError
from shrag.serving.page.rendering import render, render_full_page
from shrag.serving.page.request import PageRequest
from shrag.serving.page.snippets import LONGEST_NAME, LONGEST_TITLE, PART, join_names, mark_matches, shorten
from shrag.serving.page.state import content_terms
from shrag.serving.references.highwire import highwire_tags
from shrag.serving.request import parse_question
from shrag.serving.retrieval.query_terms import distinctive_words, text_terms

_SHOWN_AUTHORS = 100
_SHOWN_KEYWORDS = 50
_SHOWN_LINK = 500
_DUPLICATE_SEARCH = 20
"""Records that the search for a paper's title returns. All records of that paper are among them."""

RecordKind = Literal["article", "other"]
"""``article``: published in a journal. ``other``: a report, a thesis, a paper in proceedings, or anything else."""


def kind_of(record: Record) -> RecordKind:
    """Return the kind of ``record``. A record without a type is an article if it names a journal."""
    is_article = record.type == "article-journal" if record.type else bool(record.journal)
    return "article" if is_article else "other"


def render_record(engine: Engine, request: PageRequest, docid: str, part: int = 1) -> str:
    """Return the page of a record with one part of its text. A number beyond the last part means the last part.

    Raises:
        DocumentMissing: The index has no such record.
    """
    view = _record_view(engine, request, find_record(engine, docid), part)
    switched = replace(request, language="en" if request.language == "ko" else "ko")
    return render_full_page(
        "record.html", engine, request, record=view, switch_url=switched.record_url(docid, view["part"])
    )


def render_text(engine: Engine, request: PageRequest, docid: str) -> str:
    """Return the first part of a record's text as an HTML fragment; raises :class:`DocumentMissing`."""
    return render("record_text.html", request, record=_text_view(engine, request, find_record(engine, docid), 1))


def duplicate_docids(engine: Engine, record: Record) -> list[str]:
    """Return the docids of the other records of the same paper. The paper's first record in the corpus comes first.

    The others name that record in ``duplicate_of``. A search for the title finds them all.
    """
    found = {record.paper}
    try:
        title = shorten(record.title or record.text, LONGEST_TITLE)
        ranked = engine.search(title, k=_DUPLICATE_SEARCH, strategy="bm25", every_record=True).ranking.records
    except QuestionError:  # the title has no searchable term
        ranked = ()
    found |= {each.record.docid for each in ranked if each.record.paper == record.paper}
    return sorted(found - {record.docid}, key=lambda docid: (docid != record.paper, docid))


def _record_view(engine: Engine, request: PageRequest, record: Record, part: int) -> dict[str, Any]:
    return {
        **_text_view(engine, request, record, part),
        "docid": record.docid,
        "title": shorten(record.title or record.docid, PART),
        "heading": shorten(record.title or record.docid, LONGEST_TITLE),
        "language": record.language,
        "authors": join_names(record.authors, _SHOWN_AUTHORS),
        "journal": shorten(record.journal, LONGEST_TITLE),
        "publisher": shorten(record.publisher, LONGEST_TITLE),
        "issue": _issue(record),
        "year": record.year,
        "doi": shorten(record.doi, _SHOWN_LINK),
        "type": shorten(record.type, LONGEST_NAME),
        "other": [(shorten(name, LONGEST_NAME), shorten(value, LONGEST_TITLE)) for name, value in record.other],
        "kind": kind_of(record),
        "metadata": highwire_tags(record),
        "keywords": [shorten(keyword, LONGEST_NAME) for keyword in record.keywords[:_SHOWN_KEYWORDS]],
        "link": shorten(record.link, _SHOWN_LINK),
        "complete": record.complete,
        "duplicates": [(docid, request.record_url(docid)) for docid in duplicate_docids(engine, record)],
    }


def _issue(record: Record) -> str:
    """Return volume, issue and pages as a list of references writes them: ``12(3), 45-67``."""
    number = f"{record.volume}({record.issue})" if record.issue else record.volume
    return shorten(", ".join(filter(None, (number, record.pages))), LONGEST_TITLE)


def _text_view(engine: Engine, request: PageRequest, record: Record, part: int) -> dict[str, Any]:
    parts = max(1, -(-len(record.text) // PART))
    part = min(max(part, 1), parts)
    text = record.text[(part - 1) * PART : part * PART]
    return {
        "text": mark_matches(text, _terms(engine, request), engine.open_index.analyzer) if text else [],
        "part": part,
        "parts": parts,
        "characters": len(record.text),
        "before": request.record_url(record.docid, part=part - 1) if part > 1 else "",
        "next": request.record_url(record.docid, part=part + 1) if part < parts else "",
    }


def _terms(engine: Engine, request: PageRequest) -> frozenset[str]:
    try:
        question = parse_question(request.question or "")
    except QuestionError:
        return frozenset()
    words = distinctive_words(text_terms(question.text, engine.open_index))
    translations = [each.terms for word in words for each in word.translations]
    terms = frozenset[str]().union(*[word.terms for word in words], *translations)
    return terms or content_terms(question.text, engine.open_index.analyzer)
