"""Read full papers as chunks: JSON with sections, plain text, Markdown, PDF, HWPX."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from shrag.corpora.errors import RejectedLine
from shrag.corpora.formats.paper_sections import PaperSection, merge_titles, sections_of_object, sections_of_text
from shrag.corpora.formats.pdf import PageFinder, read_pdf
from shrag.corpora.readers.encodings import convert_lines
from shrag.corpora.readers.fields import (
    KEYWORD_SEPARATORS,
    bibliography,
    check_docid,
    docid_field,
    link_field,
    list_field,
    text_field,
)
from shrag.corpora.readers.hwpx_reader import read_hwpx
from shrag.corpora.readers.item import ParsedItem, SourceItem, decode_text, reject_reason
from shrag.corpora.readers.json_reader import read_objects
from shrag.corpora.readers.source import LONGEST_LINE, UTF8_MARK, read_bytes, read_head
from shrag.corpora.readers.zip_archive import ZIP_MAGIC
from shrag.corpora.records import PAGE, Record
from shrag.corpora.text.chunking import split_chunks
from shrag.corpora.text.cleaning import clean_text
from shrag.corpora.text.sentences import detect_language
from shrag.messages.text import Text, message_of

URL_TOKEN = "URL"  # noqa: S105 (no secret)
"""The replacement for URLs and ``doi:`` references, whose full stops would look like ends of sentences."""

LARGEST_DOCUMENT = 256 * 2**20
"""The largest accepted PDF or HWPX in bytes; a file is read into memory as a whole."""

_URL = re.compile(r"\(?\b(?:https?://|ftp://|www\.)[^\s<>\"'|]+|\bdoi:\s*10\.\S+", re.IGNORECASE)
_HEADING_SEPARATOR = re.compile(r"\s*:::\s*")  # the data set QASPER writes "Method ::: Data"
_URL_END = re.compile(r"[.,;:!?)\]}>]+$")
# The metadata in front of Markdown: lines of YAML between "---".
_FRONT = re.compile(
    r"---[ \t]*\r?\n(?:(?:\w[\w-]*+[ \t]*+:|[ \t#-]|\r?$).*\n)*?(?:---|\.\.\.)[ \t]*\r?\n", re.MULTILINE
)
_FRONT_TITLE = re.compile(r"^title[ \t]*:[ \t]*([\"']?)(\S.{0,500}?)\1[ \t]{0,99}\r?$", re.IGNORECASE | re.MULTILINE)
_ID_KEYS = ("paper_id", "id", "_id", "docid", "doi", "CN")
_JSON_SUFFIXES = (".jsonl", ".json")


Splitter = Callable[[str], list[str]]
"""Splits the clean text of a section into chunks."""


def read_papers(path: Path, split: Splitter = split_chunks) -> Iterator[ParsedItem]:
    """Yield the chunks of the papers in one file.

    Each object of JSON or JSON Lines is a paper; a PDF, HWPX, text or Markdown file is one paper. A rejected paper
    yields one item with the reason. ``split`` is one of the functions of :mod:`shrag.corpora.text.chunking`.
    """
    head = read_head(path, 1_024)
    if head.startswith(b"%PDF"):
        yield from _read_file(path, LARGEST_DOCUMENT, _parse_pdf, split)
    elif head.startswith(ZIP_MAGIC):
        yield from _read_file(path, LARGEST_DOCUMENT, _parse_hwpx, split)
    elif head.lstrip().startswith((b"{", b"[")) or path.name.removesuffix(".gz").endswith(_JSON_SUFFIXES):
        for item in read_objects(path):
            yield from _parse_object(item, split)
    else:
        yield from _read_file(path, LONGEST_LINE, _parse_text, split)


HEADING_MARK = " — "
"""The separator between the paper's title and the section's heading in the title of a chunk."""


def chunk_paper(
    paper_id: str, title: str, sections: list[PaperSection], fields: Mapping[str, object], split: Splitter
) -> list[Record]:
    """Split one paper into chunks.

    The title of a chunk is the paper's title and the section's heading, joined by :data:`HEADING_MARK`.

    Args:
        paper_id: The paper's identifier. The chunks have the docids ``paper_id#0``, ``paper_id#1``, …
        title: The paper's title.
        sections: The paper's sections in order.
        fields: Further fields: keyword or keywords, author or authors, journal or venue, publisher, year, link or url,
            doi, volume, issue, pages, type.
        split: The function that splits the text of a section.

    Raises:
        RejectedLine: The sections have no text, or the identifier or a field is not valid.
    """
    check_docid(f"{paper_id}#{len(sections)}")  # about as long as the longest docid of the chunks
    about = bibliography(fields)
    about["authors"] = about["authors"] or list_field(fields, "authors")
    about["journal"] = about["journal"] or text_field(fields, "venue")
    about["link"] = about["link"] or link_field(fields, "url")
    about["keywords"] = about["keywords"] or tuple(dict.fromkeys(list_field(fields, "keywords", KEYWORD_SEPARATORS)))
    # The language is set for each chunk.
    paper_record = Record(docid=paper_id, title=clean_text(title), text="", language="und", complete=True, **about)
    records: list[Record] = []
    for section in sections:
        chunk_title = HEADING_MARK.join(part for part in (paper_record.title, _clean_heading(section)) if part)
        for chunk in split(clean_text(replace_urls(section.text))):
            docid, language = f"{paper_id}#{len(records)}", detect_language(chunk)
            records.append(replace(paper_record, docid=docid, title=chunk_title, text=chunk, language=language))
    if not records:
        raise RejectedLine(
            Text("paper {paper_id} has no text outside references, acknowledgements and appendices", paper_id=paper_id)
        )
    return records


def replace_urls(text: str) -> str:
    """Replace URLs and ``doi:`` references by :data:`URL_TOKEN`, but keep brackets and punctuation around them.

    >>> replace_urls("Code (https://example.invalid/a.b) and www.example.invalid/x, doi:10.1/ab.")
    'Code (URL) and URL, URL.'
    """

    def placeholder(match: re.Match[str]) -> str:
        end = _URL_END.search(match.group())
        return ("(" if match.group().startswith("(") else "") + URL_TOKEN + (end.group() if end else "")

    return _URL.sub(placeholder, text)


def _clean_heading(section: PaperSection) -> str:
    return _HEADING_SEPARATOR.sub(": ", clean_text(section.heading))


def _parse_object(item: SourceItem, split: Splitter) -> Iterator[ParsedItem]:
    if item.fields is None or isinstance(item.fields, str):
        yield ParsedItem(item.number, item.offset, item.fields, item.element)
        return
    try:
        # If the object has none of these keys, docid_field names the first of them in its message.
        key = next((key for key in _ID_KEYS if item.fields.get(key) not in (None, "")), _ID_KEYS[0])
        paper = docid_field(item.fields, key)
        records = chunk_paper(paper, *sections_of_object(item.fields), item.fields, split)
    except Exception as error:
        yield ParsedItem(item.number, item.offset, reject_reason(error), item.element)
        return
    for record in records:
        yield ParsedItem(item.number, item.offset, record, item.element)


class _Paper(NamedTuple):
    """A file's title and sections, and for a PDF a function that returns the page of a passage."""

    title: str
    sections: list[PaperSection]
    find_page: Callable[[str], str] | None = None


def _read_file(path: Path, largest: int, parse: Callable[[bytes], _Paper], split: Splitter) -> Iterator[ParsedItem]:
    try:
        title, sections, find_page = parse(read_bytes(path, largest))
        paper = re.sub(r"\s+", "_", clean_text(Path(path.name.removesuffix(".gz")).stem))
        records = chunk_paper(paper, title, sections, {}, split)
    except RejectedLine as reason:
        yield ParsedItem(1, 0, message_of(reason))
        return
    for record in records:
        page = find_page(record.text) if find_page else ""
        yield ParsedItem(1, 0, replace(record, other=((PAGE, page),)) if page else record)


def _parse_pdf(data: bytes) -> _Paper:
    pdf = read_pdf(data)
    title, sections = merge_titles(pdf.title, *sections_of_text(pdf.text, paragraph_lines=False))
    return _Paper(title, sections, PageFinder([page._replace(text=replace_urls(page.text)) for page in pdf.pages]).find)


def _parse_hwpx(data: bytes) -> _Paper:
    title, text = read_hwpx(data)
    return _Paper(*merge_titles(title, *sections_of_text(text)))


def _parse_text(data: bytes) -> _Paper:
    text = decode_text(convert_lines(data.removeprefix(UTF8_MARK)))
    if (front := _FRONT.match(text)) is None:
        return _Paper(*sections_of_text(text))
    title = _FRONT_TITLE.search(front.group())
    return _Paper(*merge_titles(title.group(2) if title else "", *sections_of_text(text[front.end() :])))
