"""Read MIRACL and BEIR passages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from shrag.corpora.errors import RejectedLine
from shrag.corpora.readers.fields import docid_field, other_fields, text_field
from shrag.corpora.readers.item import ParsedItem, parse_items
from shrag.corpora.readers.json_reader import read_objects
from shrag.corpora.records import Record
from shrag.corpora.text.sentences import detect_language
from shrag.messages.text import Text


def read_miracl(path: Path) -> Iterator[ParsedItem]:
    """Yield the passages of a file of MIRACL."""
    return parse_items(read_objects(path), parse_miracl)


def read_beir(path: Path) -> Iterator[ParsedItem]:
    """Yield the documents of BEIR's ``corpus.jsonl``."""
    return parse_items(read_objects(path), parse_beir)


def parse_miracl(fields: Mapping[str, object]) -> Record:
    """Return the record of one passage.

    It is complete if it has a text: the title alone is not enough, since all passages of an article have the same.
    """
    return _passage(fields, "docid")


def parse_beir(fields: Mapping[str, object]) -> Record:
    """Return the record of one document; all of ``metadata`` becomes further fields, since data sets differ in it."""
    record, metadata = _passage(fields, "_id"), fields.get("metadata")
    return replace(record, other=other_fields(metadata, ())) if isinstance(metadata, dict) else record


def _passage(fields: Mapping[str, object], key: str) -> Record:
    docid = docid_field(fields, key)
    title = text_field(fields, "title")
    text = text_field(fields, "text")
    if not title and not text:
        raise RejectedLine(Text("passage {docid} has neither a title nor a text", docid=docid))
    return Record(docid=docid, title=title, text=text, language=detect_language(text or title), complete=bool(text))
