"""Metadata of a record as Highwire Press tags, which Zotero and other programs read from a web page."""

from __future__ import annotations

from shrag.corpora.records import Record
from shrag.serving.references.fields import document_type, one_line, page_range

_CONTAINERS = {
    "paper-conference": "citation_conference_title",
    "thesis": "citation_dissertation_institution",
    "report": "citation_technical_report_institution",
    "chapter": "citation_inbook_title",
}

LONGEST_VALUE = 5_000
"""Maximum characters of a value, such as an abstract."""

MOST_AUTHORS = 100
"""Maximum number of authors that are named."""


def highwire_tags(record: Record) -> list[tuple[str, str]]:
    """Return the names and values of the tags that are not empty, with a ``citation_author`` for each author."""
    first, last = page_range(record.pages)
    kind = document_type(record).csl
    tags = [
        ("citation_title", record.title or record.docid),
        *(("citation_author", author) for author in record.authors[:MOST_AUTHORS]),
        ("citation_publication_date", str(record.year) if record.year is not None else ""),
        (_CONTAINERS.get(kind, "citation_journal_title"), record.journal),
        ("citation_volume", record.volume),
        ("citation_issue", record.issue),
        ("citation_firstpage", first),
        ("citation_lastpage", last),
        ("citation_doi", record.doi),
        ("citation_publisher", record.publisher),
        ("citation_language", record.language if record.language != "und" else ""),
        ("citation_keywords", "; ".join(record.keywords)),
        ("citation_abstract", record.text),
    ]
    return [(name, value) for name, text in tags if (value := one_line(text[:LONGEST_VALUE]))]
