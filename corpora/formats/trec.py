"""Read TREC documents in SGML: ``<DOC>``, ``<DOCNO>``, title, ``<TEXT>``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from shrag.corpora.errors import RejectedLine
from shrag.corpora.readers.fields import bibliography, docid_field, text_field, year_field
from shrag.corpora.readers.item import ParsedItem, SourceItem, decode_text, parse_items
from shrag.corpora.readers.source import LONGEST_LINE, read_lines
from shrag.corpora.records import Record
from shrag.corpora.text.sentences import detect_language
from shrag.messages.text import Text, message_of

_TAG = re.compile(r"<(/?)([A-Za-z][\w:-]*+)(?:\s[^<>]*+)?>")


class TaggedText(NamedTuple):
    """A tag and the text after it.

    ``tag`` is the name in lower case, with ``/`` before the name of an end tag. It is empty for the text before the
    first tag. ``source`` is the tag as it is written.
    """

    tag: str
    text: str
    attributes: str = ""
    source: str = ""


def read_tags(text: str) -> Iterator[TaggedText]:
    """Yield the tags of ``text`` in order, each with the text up to the next tag."""
    tag = attributes = source = ""
    start = 0
    for match in _TAG.finditer(text):
        yield TaggedText(tag, text[start : match.start()], attributes, source)
        tag, start = match.group(1) + match.group(2).lower(), match.end()
        source = match.group()
        attributes = source[len(tag) + 1 : -1].strip()
    yield TaggedText(tag, text[start:], attributes, source)


_EDGE = re.compile(rb"<(/?)DOC(?:\s[^<>]*+)?>", re.IGNORECASE)
_ANY_TAG = re.compile(rb"<[!?/A-Za-z][^<>]*+>")

_NAMES: dict[str, tuple[str, ...]] = {
    "docno": ("docno",),
    "docid": ("docid",),
    "title": ("title", "headline", "hl", "head", "ti", "ttl"),
    "text": ("text", "abstract", "body", "ab"),
    "author": ("author", "authors", "au", "byline"),
    "journal": ("source", "journal", "so", "bib"),
    "publisher": ("publisher", "pub"),
    "year": ("year", "date", "dp", "pubdate", "date1"),
    "keyword": ("keyword", "keywords", "kw", "subject"),
    "link": ("url", "link"),
    "unread": ("dochdr", "fileid", "docoldno", "parent", "length", "page"),
}
_NAME_OF = {tag: name for name, tags in _NAMES.items() for tag in tags}


def read_trec(path: Path) -> Iterator[ParsedItem]:
    """Yield the documents of one file."""
    return parse_items(read_documents(path), parse_trec)


def parse_trec(fields: Mapping[str, object]) -> Record:
    """Return the record of one document; it is complete if it has a text.

    If no tag marks the text, the text is everything outside the other known fields.
    """
    docid = docid_field(fields, "docno" if fields.get("docno") else "docid")
    title = text_field(fields, "title")
    text = text_field(fields, "text" if fields.get("text") else "rest")
    if not title and not text:
        raise RejectedLine(Text("document {docid} has neither a title nor a text", docid=docid))
    about = bibliography(fields)
    about["year"] = about["year"] or year_field(fields, "journal")
    return Record(
        docid=docid,
        title=title,
        text=text,
        language=detect_language(text or title),
        complete=bool(text),
        **about,
    )


def read_documents(path: Path) -> Iterator[SourceItem]:
    """Yield the documents of ``path``, and a reject for every line of text outside them.

    Only one document is in memory at a time. A document that is not closed is a reject, and ends where the next one
    begins. Raises as :func:`shrag.corpora.readers.source.open_source`.
    """
    document: _Document | None = None
    for line in read_lines(path):
        data = line.data if line.data is not None else b""
        if line.data is None and document is not None:
            document.too_long = True
        at = 0
        while True:
            edge = _EDGE.search(data, at)
            between = data[at : edge.start() if edge else len(data)]
            if document is not None:
                document.add(between)
            elif line.data is None or _ANY_TAG.sub(b"", between).strip():
                yield SourceItem(line.number, line.offset + at, Text("text outside <DOC> … </DOC>"))
            if edge is None:
                break
            at = edge.end()
            closes = edge.group(1) == b"/"
            if document is not None:
                yield document.item(closes)
            document = None if closes else _Document(line.number, line.offset + edge.start())
    if document is not None:
        yield document.item(closes=False)


class _Document:
    """The lines of a document that were read so far."""

    def __init__(self, number: int, offset: int) -> None:
        self._number, self._offset = number, offset
        self._lines: list[bytes] = []
        self._size = 0
        self.too_long = False

    def add(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > LONGEST_LINE:
            self.too_long = True
        if self.too_long:
            self._lines.clear()
        else:
            self._lines.append(data)

    def item(self, closes: bool) -> SourceItem:
        fields = self._fields() if closes else Text("<DOC> is not closed by </DOC>")
        return SourceItem(self._number, self._offset, fields)

    def _fields(self) -> dict[str, object] | str:
        try:
            text = decode_text(None if self.too_long else b"\n".join(self._lines))
        except RejectedLine as reason:
            return message_of(reason)
        parts: dict[str, list[str]] = {}
        name = "rest"
        for tagged in read_tags(text):
            if tagged.tag.startswith("/"):
                name = "rest" if tagged.tag[1:] in _NAME_OF else name
            else:
                name = _NAME_OF.get(tagged.tag, name)
            parts.setdefault(name, []).append(tagged.text)
        return {name: _joiner(name).join(texts).strip() for name, texts in parts.items()}


def _joiner(name: str) -> str:
    return ";" if name in ("author", "keyword") else " "
