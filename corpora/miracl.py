"""MIRACL's passages: ``docid`` (ARTICLE#PASSAGE), ``title``, ``text``."""

from __future__ import annotations

from collections.abc import Mapping

from shrag.corpora.errors import RejectedLine
from shrag.corpora.fields import docid_field, text_field
from shrag.corpora.language import detect_language
from shrag.corpora.records import Record


def parse_miracl(fields: Mapping[str, object]) -> Record:
    """Return the record of one passage. Complete evidence needs the text alone: an article's passages share a title."""
    docid = docid_field(fields, "docid")
    title = text_field(fields, "title")
    text = text_field(fields, "text")
    if not title and not text:
        raise RejectedLine(f"passage {docid} has neither a title nor a text")
    return Record(docid=docid, title=title, text=text, language=detect_language(text or title), complete=bool(text))
