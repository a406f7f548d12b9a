"""Fields that all formats of references share: types of documents, values on one line, and a reference as a line."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from shrag.corpora.records import Record


class DocumentType(NamedTuple):
    """The names of a type of documents in CSL, BibTeX and RIS."""

    csl: str
    bibtex: str
    ris: str


_TYPES = {
    each.csl: each
    for each in (
        DocumentType("article-journal", "article", "JOUR"),
        DocumentType("paper-conference", "inproceedings", "CONF"),
        DocumentType("book", "book", "BOOK"),
        DocumentType("chapter", "incollection", "CHAP"),
        DocumentType("thesis", "phdthesis", "THES"),
        DocumentType("report", "techreport", "RPRT"),
        DocumentType("patent", "misc", "PAT"),
        DocumentType("dataset", "misc", "DATA"),
    )
}
_OTHER = DocumentType("document", "misc", "GEN")


def document_type(record: Record) -> DocumentType:
    """Return the type of ``record``. An unknown type is an article if the record names a journal, else a document."""
    return _TYPES.get(record.type) or (_TYPES["article-journal"] if record.journal else _OTHER)


# A page: S12, 123001-4, or a roman numeral.
_PAGE = re.compile(r"(?=\S*\d)[^\s,;]+|[ivxlcdm]+", re.IGNORECASE)
_DASHES = re.compile(r"\s*[‒–—―−~～〜∼]+\s*")
_HYPHENS = re.compile(r"\s*[-‐‑]+\s*")


def page_range(pages: str) -> tuple[str, str]:
    """Return the first and the last page, each empty if there is none.

    A dash stands between them if there is one, otherwise the hyphen in the middle: pages can have hyphens themselves.

    >>> page_range("12-34"), page_range("12-1–12-23"), page_range("12-1-12-23")
    (('12', '34'), ('12-1', '12-23'), ('12-1', '12-23'))
    >>> page_range("e17"), page_range("1-5, 8-10"), page_range("")
    (('e17', ''), ('1-5, 8-10', ''), ('', ''))
    """
    text = pages.strip()
    signs = list(_DASHES.finditer(text)) or list(_HYPHENS.finditer(text))
    if len(signs) % 2:
        middle = signs[len(signs) // 2]
        first, last = text[: middle.start()], text[middle.end() :]
        if _PAGE.fullmatch(first) and _PAGE.fullmatch(last):
            return first, last
    return text, ""


def one_line(text: str) -> str:
    """Return ``text`` on one line, without control characters and invisible format characters."""
    spaced = "".join(" " if unicodedata.category(sign) == "Cc" else sign for sign in text)
    return " ".join("".join(sign for sign in spaced if unicodedata.category(sign) not in ("Cf", "Cs")).split())


def reference_line(record: Record) -> str:
    """Return ``Authors (year). Title. Journal. p. 3. docid``, or ``pp. 3-4``; empty fields are left out."""
    authors = ", ".join(one_line(author) for author in record.authors)
    year = f"({record.year})" if record.year is not None else ""
    page = f"{'pp.' if '-' in record.page else 'p.'} {one_line(record.page)}" if record.page else ""
    about = (one_line(record.title), one_line(record.journal), page, one_line(record.docid))
    parts = [" ".join(filter(None, (authors, year))), *about]
    return ". ".join(part.rstrip(".") for part in parts if part)
