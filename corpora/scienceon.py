"""ScienceON's search answers as JSON objects: ``CN``, ``title``, ``abstract``, ``author``, ``journal`` and more."""

from __future__ import annotations

from collections.abc import Mapping

from shrag.corpora.errors import RejectedLine
from shrag.corpora.fields import docid_field, names_field, text_field, year_field
from shrag.corpora.language import detect_language
from shrag.corpora.records import Record


def parse_scienceon(fields: Mapping[str, object]) -> Record:
    """Return the record of one search answer. Complete evidence needs a title and an abstract."""
    docid = docid_field(fields, "CN")
    title = text_field(fields, "title")
    abstract = text_field(fields, "abstract")
    if not title and not abstract:
        raise RejectedLine(f"record {docid} has neither a title nor an abstract")
    return Record(
        docid=docid,
        title=title,
        text=abstract,
        language=detect_language(abstract or title),
        complete=bool(title and abstract),
        authors=names_field(fields, "author"),
        journal=text_field(fields, "journal"),
        publisher=text_field(fields, "publisher"),
        year=year_field(fields, "year"),
        link=text_field(fields, "link"),
    )
