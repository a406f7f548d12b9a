"""Read full papers as chunks: JSON with sections, plain text, Markdown, PDF."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from shrag.corpora.errors import RejectedLine
from shrag.corpora.formats.paper_sections import PaperSection, merge_titles, sections_of_object, sections_of_text
from shrag.corpora.formats.pdf import read_pdf
from shrag.corpora.readers.fields import (
    KEYWORD_SEPARATORS,
    check_docid,
    docid_field,
    list_field,
    text_field,
    year_field,
)
from shrag.corpora.readers.item import ParsedItem, SourceItem, decode_text
from shrag.corpora.readers.json_reader import read_objects
from shrag.corpora.readers.source import LONGEST_LINE, UTF8_MARK, open_source, read_head
from shrag.corpora.records import Record
from shrag.corpora.text.chunking import split_chunks
from shrag.corpora.text.cleaning import clean_text
from shrag.corpora.text.sentences import detect_language

URL_TOKEN = "URL"  # noqa: S105 (no secret)
"""Replaces every address, whose full stops would end sentences."""

LARGEST_PDF = 256 * 2**20
"""Most bytes of a PDF, which is read into memory."""

_URL = re.compile(r"\(?\b(?:https?://|ftp://|www\.)[^\s<>\"'|]+|\bdoi:\s*10\.\S+", re.IGNORECASE)
_PATH = re.compile(r"\s*:::\s*")  # QASPER's "Method ::: Data"
_URL_END = re.compile(r"[.,;:!?)\]}>]+$")
_ID_KEYS = ("paper_id", "id", "_id", "docid", "doi", "CN")
_JSON_SUFFIXES = (".jsonl", ".json")


def read_papers(path: Path) -> Iterator[ParsedItem]:
    """Yield the chunks of the papers in one file: a JSON object is a paper, any other file is one paper."""
    head = read_head(path, 1_024)
    if head.startswith(b"%PDF"):
        yield from _read_file(path, LARGEST_PDF, _pdf)
    elif head.lstrip().startswith((b"{", b"[")) or path.name.removesuffix(".gz").endswith(_JSON_SUFFIXES):
        for item in read_objects(path):
            yield from _chunks_of(item)
    else:
        yield from _read_file(path, LONGEST_LINE, _plain)


def chunk_paper(paper: str, title: str, sections: list[PaperSection], fields: Mapping[str, object]) -> list[Record]:
    """Split one paper into chunks, numbered from 0 through all its sections.

    The title of a chunk is the paper's title and the section's heading.

    Raises:
        RejectedLine: There is no text.
    """
    check_docid(f"{paper}#{len(sections)}")
    keywords = list_field(fields, "keyword", KEYWORD_SEPARATORS) or list_field(fields, "keywords", KEYWORD_SEPARATORS)
    paper_record = Record(
        docid=paper,
        title=clean_text(title),
        text="",
        language="und",
        complete=True,
        authors=list_field(fields, "author") or list_field(fields, "authors"),
        journal=text_field(fields, "journal") or text_field(fields, "venue"),
        publisher=text_field(fields, "publisher"),
        year=year_field(fields, "year"),
        link=text_field(fields, "link") or text_field(fields, "url"),
        keywords=tuple(dict.fromkeys(keywords)),
    )
    records: list[Record] = []
    for section in sections:
        both = " — ".join(part for part in (paper_record.title, _heading(section)) if part)
        for chunk in split_chunks(clean_text(replace_urls(section.text))):
            docid, language = f"{paper}#{len(records)}", detect_language(chunk)
            records.append(replace(paper_record, docid=docid, title=both, text=chunk, language=language))
    if not records:
        raise RejectedLine(f"paper {paper} has no text outside references, acknowledgements and appendices")
    return records


def replace_urls(text: str) -> str:
    """Replace every address by :data:`URL_TOKEN`; punctuation after an address stays.

    >>> replace_urls("Code (https://example.invalid/a.b) and www.example.invalid/x, doi:10.1/ab.")
    'Code (URL) and URL, URL.'
    """

    def token(match: re.Match[str]) -> str:
        end = _URL_END.search(match.group())
        return ("(" if match.group().startswith("(") else "") + URL_TOKEN + (end.group() if end else "")

    return _URL.sub(token, text)


def _heading(section: PaperSection) -> str:
    return _PATH.sub(": ", clean_text(section.heading))


def _chunks_of(item: SourceItem) -> Iterator[ParsedItem]:
    if item.fields is None or isinstance(item.fields, str):
        yield ParsedItem(item.number, item.offset, item.fields)
        return
    try:
        key = next((key for key in _ID_KEYS if item.fields.get(key) not in (None, "")), _ID_KEYS[0])
        paper = docid_field(item.fields, key)
        records = chunk_paper(paper, *sections_of_object(item.fields), item.fields)
    except RejectedLine as reason:
        yield ParsedItem(item.number, item.offset, str(reason))
        return
    for record in records:
        yield ParsedItem(item.number, item.offset, record)


def _read_file(
    path: Path, largest: int, parse: Callable[[bytes], tuple[str, list[PaperSection]]]
) -> Iterator[ParsedItem]:
    try:
        title, sections = parse(_read_bytes(path, largest))
        paper = re.sub(r"\s+", "_", clean_text(Path(path.name.removesuffix(".gz")).stem))
        records = chunk_paper(paper, title, sections, {})
    except RejectedLine as reason:
        yield ParsedItem(1, 0, str(reason))
        return
    for record in records:
        yield ParsedItem(1, 0, record)


def _read_bytes(path: Path, largest: int) -> bytes:
    with open_source(path) as stream:
        data = stream.read(largest + 1)
        while len(data) > largest and stream.read(2**20):
            pass  # read to the end, where damage is detected
    if len(data) > largest:
        raise RejectedLine(f"longer than {largest} bytes")
    return data


def _pdf(data: bytes) -> tuple[str, list[PaperSection]]:
    title, text = read_pdf(data)
    return merge_titles(title, *sections_of_text(text, paragraph_lines=False))


def _plain(data: bytes) -> tuple[str, list[PaperSection]]:
    return sections_of_text(decode_text(data.removeprefix(UTF8_MARK)))
