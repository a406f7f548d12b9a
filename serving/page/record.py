"""A record's page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shrag.corpora.records import Record
from shrag.serving.engine import Engine
from shrag.serving.errors import DocumentMissing, QuestionError
from shrag.serving.page.facets import kind_of
from shrag.serving.page.rendering import render, render_full_page
from shrag.serving.page.request import PageRequest
from shrag.serving.page.snippets import LONGEST_NAME, LONGEST_TITLE, PART, join_names, mark_matches, shorten
from shrag.serving.request import parse_question

_SHOWN_AUTHORS = 100
_SHOWN_KEYWORDS = 50
_SHOWN_LINK = 500
_LOOKED_AT = 20
"""Records that are looked through for the same paper under another number; a paper's title finds all of them first."""


def render_record(engine: Engine, asked: PageRequest, docid: str, part: int = 1) -> str:
    """Return the page of the record ``docid``, ``part`` of its text shown; raises :class:`DocumentMissing`.

    A part has :data:`~shrag.serving.page.snippets.PART` characters; one beyond the last is the last.
    """
    record = _fetch(engine, docid)
    view = _view(engine, asked, record, part)
    switched = replace(asked, language="en" if asked.language == "ko" else "ko")
    return render_full_page(
        "record.html", engine, asked, record=view, switch_url=switched.record_url(docid, view["part"])
    )


def render_text(engine: Engine, asked: PageRequest, docid: str) -> str:
    """Return the first part of a record's text as a piece of a page; raises :class:`DocumentMissing`."""
    record = _fetch(engine, docid)
    return render("record_text.html", asked, record=_text_view(engine, asked, record, 1))


def other_numbers(engine: Engine, record: Record) -> list[str]:
    """Return the docids under which the index has the same paper too, the first one of the corpus first.

    Records of the same paper name the first of them; those that name this one, or the same one, are found by the title.
    """
    paper = record.duplicate_of or record.docid
    found = {paper}
    try:
        title = shorten(record.title or record.text, LONGEST_TITLE)
        ranked = engine.search(title, k=_LOOKED_AT, strategy="bm25", every_record=True).ranking.records
    except QuestionError:  # a title of nothing that can be searched for
        ranked = ()
    found |= {each.record.docid for each in ranked if (each.record.duplicate_of or each.record.docid) == paper}
    return sorted(found - {record.docid}, key=lambda docid: (docid != paper, docid))


def _fetch(engine: Engine, docid: str) -> Record:
    record = engine.document(docid)
    if record is None:
        raise DocumentMissing(f"Index {engine.name} has no document {shorten(docid, LONGEST_NAME)!r}.")
    return record


def _view(engine: Engine, asked: PageRequest, record: Record, part: int) -> dict[str, Any]:
    return {
        **_text_view(engine, asked, record, part),
        "docid": record.docid,
        "title": shorten(record.title or record.docid, PART),
        "heading": shorten(record.title or record.docid, LONGEST_TITLE),
        "language": record.language,
        "authors": join_names(record.authors, _SHOWN_AUTHORS),
        "journal": shorten(record.journal, LONGEST_TITLE),
        "publisher": shorten(record.publisher, LONGEST_TITLE),
        "year": record.year,
        "kind": kind_of(record),
        "keywords": [shorten(keyword, LONGEST_NAME) for keyword in record.keywords[:_SHOWN_KEYWORDS]],
        "link": shorten(record.link, _SHOWN_LINK),
        "complete": record.complete,
        "others": [(docid, asked.record_url(docid)) for docid in other_numbers(engine, record)],
    }


def _text_view(engine: Engine, asked: PageRequest, record: Record, part: int) -> dict[str, Any]:
    parts = max(1, -(-len(record.text) // PART))
    part = min(max(part, 1), parts)
    text = record.text[(part - 1) * PART : part * PART]
    return {
        "text": mark_matches(text, _terms(engine, asked), engine.open_index.analyzer) if text else [],
        "part": part,
        "parts": parts,
        "characters": len(record.text),
        "before": asked.record_url(record.docid, part=part - 1) if part > 1 else "",
        "next": asked.record_url(record.docid, part=part + 1) if part < parts else "",
    }


def _terms(engine: Engine, asked: PageRequest) -> set[str]:
    try:
        question = parse_question(asked.question or "")
    except QuestionError:
        return set()
    return {term for terms in engine.open_index.analyzer.terms([question.text]) for term in terms}
