"""Export references: BibTeX, RIS and plain text.

Each field is written on one line, so that no value can begin another field. BibTeX counts braces even after a
backslash, so that a brace is written as a command. Sources: BibTeXing (Patashnik, 1988), section 4; the tags of RIS as
Zotero and EndNote read them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from shrag.corpora.records import Record
from shrag.serving.page.facets import kind_of

ReferenceFormat = Literal["bibtex", "ris"]


class ReferenceFile(NamedTuple):
    """Media type and name of an exported file."""

    media_type: str
    name: str


REFERENCE_FILES: dict[ReferenceFormat, ReferenceFile] = {
    "bibtex": ReferenceFile("application/x-bibtex", "shrag.bib"),
    "ris": ReferenceFile("application/x-research-info-systems", "shrag.ris"),
}

_COMMANDS = {"\\": "backslash", "{": "braceleft", "}": "braceright", "~": "asciitilde", "^": "asciicircum"}
_TEX_ESCAPES = str.maketrans(
    {sign: rf"\text{name}{{}}" for sign, name in _COMMANDS.items()} | {sign: rf"\{sign}" for sign in "$&#%_"}
)


def write_references(records: Iterable[Record], form: ReferenceFormat) -> str:
    """Return the references of ``records`` as the text of a file, in their order."""
    entries = _bibtex_entries(records) if form == "bibtex" else map(_ris_entry, records)
    return "".join(f"{entry}\n" for entry in entries)


def reference_line(record: Record) -> str:
    """Return ``Authors (year). Title. Journal. docid`` without the fields that are empty."""
    authors = ", ".join(_line(author) for author in record.authors)
    year = f"({record.year})" if record.year is not None else ""
    parts = [" ".join(filter(None, (authors, year))), _line(record.title), _line(record.journal), _line(record.docid)]
    return ". ".join(part.rstrip(".") for part in parts if part)


def escape_tex(text: str) -> str:
    """Return one line of TeX that typesets as ``text``; letters beyond ASCII stay as they are (UTF-8)."""
    return _line(text).translate(_TEX_ESCAPES)


def _bibtex_entries(records: Iterable[Record]) -> Iterator[str]:
    taken: set[str] = set()
    for record in records:
        key = unused = _key(record.docid)
        number = 2
        while unused in taken:
            unused, number = f"{key}-{number}", number + 1
        taken.add(unused)
        yield _bibtex_entry(record, unused)


def _bibtex_entry(record: Record, key: str) -> str:
    # The second pair of braces keeps BibTeX styles from lowering a title's capitals.
    fields = {
        "author": " and ".join(_tex_author(author) for author in record.authors),
        "title": "{" + escape_tex(record.title or record.docid) + "}",
        "journal": escape_tex(record.journal),
        "year": str(record.year) if record.year is not None else "",
        "publisher": escape_tex(record.publisher),
        "url": escape_tex(record.link),
        "keywords": ", ".join(escape_tex(keyword) for keyword in record.keywords),
        "note": escape_tex(record.docid),
    }
    kind = "article" if kind_of(record) == "article" else "misc"
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{key},", *lines, "}", ""])


def _tex_author(author: str) -> str:
    """Return one author; a name that has the word "and", which separates authors, is put in braces."""
    name = escape_tex(author)
    return f"{{{name}}}" if re.search(r"\band\b", name, re.IGNORECASE) else name


def _key(docid: str) -> str:
    """Return a key of letters, digits, ``-``, ``.``, ``:`` and ``_``, which every BibTeX program takes."""
    return re.sub(r"[^A-Za-z0-9.:_-]+", "-", docid).strip("-") or "record"


def _ris_entry(record: Record) -> str:
    fields: list[tuple[str, str]] = [("TY", "JOUR" if kind_of(record) == "article" else "GEN")]
    fields += [("AU", author) for author in record.authors]
    fields += [
        ("TI", record.title or record.docid),
        ("JO", record.journal),
        ("PY", str(record.year) if record.year is not None else ""),
        ("PB", record.publisher),
        ("UR", record.link),
        ("AB", record.text),
    ]
    fields += [("KW", keyword) for keyword in record.keywords]
    fields += [("LA", record.language if record.language != "und" else ""), ("ID", record.docid)]
    lines = [f"{tag}  - {value}" for tag, text in fields if (value := _line(text))]
    return "\n".join([*lines, "ER  - ", ""])


def _line(text: str) -> str:
    """Return ``text`` on one line without control and (invisible) format characters."""
    spaced = "".join(" " if unicodedata.category(sign) in ("Cc", "Zl", "Zp") else sign for sign in text)
    return " ".join("".join(sign for sign in spaced if unicodedata.category(sign) not in ("Cf", "Cs")).split())
