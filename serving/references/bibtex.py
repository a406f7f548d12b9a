"""BibTeX entries of records.

BibTeX counts braces even after a backslash, so a brace is written as a command. Source: BibTeXing (Patashnik, 1988),
section 4. Nothing is escaped in ``url`` and ``doi``. biblatex reads them verbatim (its manual, section 2.2.2). So do
the commands of url.sty, hyperref and doi.sty into which other styles write them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote

from shrag.corpora.records import Record
from shrag.serving.references.fields import document_type, one_line, page_range

_COMMANDS = {"\\": "backslash", "{": "braceleft", "}": "braceright", "~": "asciitilde", "^": "asciicircum"}
_TEX_ESCAPES = str.maketrans(
    {sign: rf"\text{name}{{}}" for sign, name in _COMMANDS.items()} | {sign: rf"\{sign}" for sign in "$&#%_"}
)
_CONTAINERS = {"inproceedings": "booktitle", "incollection": "booktitle"}
_PUBLISHERS = {"phdthesis": "school", "techreport": "institution"}


def bibtex_entries(records: Iterable[Record]) -> Iterator[str]:
    """Yield an entry for each record, with a key of its own."""
    taken: set[str] = set()
    for record in records:
        key = unused = _key(record.docid)
        number = 2
        while unused.casefold() in taken:  # BibTeX takes keys for the same that differ only in case
            unused, number = f"{key}-{number}", number + 1
        taken.add(unused.casefold())
        yield _entry(record, unused)


def escape_tex(text: str) -> str:
    """Return one line of TeX that typesets as ``text``; letters beyond ASCII stay as UTF-8."""
    return one_line(text).translate(_TEX_ESCAPES)


def _entry(record: Record, key: str) -> str:
    kind = document_type(record).bibtex
    # The second pair of braces keeps BibTeX styles from lowering a title's capitals.
    fields = {
        "author": " and ".join(_tex_author(author) for author in record.authors),
        "title": "{" + escape_tex(record.title or record.docid) + "}",
        _CONTAINERS.get(kind, "journal"): escape_tex(record.journal),
        "year": str(record.year) if record.year is not None else "",
        "volume": escape_tex(record.volume),
        "number": escape_tex(record.issue),
        "pages": _tex_pages(one_line(record.pages)),
        _PUBLISHERS.get(kind, "publisher"): escape_tex(record.publisher),
        "doi": _verbatim_doi(record.doi),
        "url": _verbatim_url(record.link),
        "keywords": ", ".join(escape_tex(keyword) for keyword in record.keywords),
        "note": escape_tex(record.docid),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{key},", *lines, "}", ""])


def _tex_pages(pages: str) -> str:
    """Return pages with two hyphens between the first and the last one of each range."""
    ranges = (filter(None, page_range(each)) for each in pages.split(","))
    return ", ".join("--".join(map(escape_tex, each)) for each in ranges)


def _verbatim_doi(doi: str) -> str:
    """Return a DOI without the signs that BibTeX reads even in verbatim text, which are percent-encoded."""
    return re.sub(r"[{}\\]", lambda sign: f"%{ord(sign[0]):02X}", one_line(doi))


def _verbatim_url(link: str) -> str:
    """Return an address that needs no TeX escapes: signs that no URL may contain (RFC 3986) are percent-encoded."""
    return quote(one_line(link), safe="%:/?#[]@!$&'()*+,;=~")


def _tex_author(author: str) -> str:
    """Return one author. A name with the word "and", which separates authors, is put in braces."""
    name = escape_tex(author)
    return f"{{{name}}}" if re.search(r"\band\b", name, re.IGNORECASE) else name


def _key(docid: str) -> str:
    """Return a key of letters, digits, ``-``, ``.``, ``:`` and ``_``, which every BibTeX program accepts."""
    return re.sub(r"[^A-Za-z0-9.:_-]+", "-", docid).strip("-") or "record"
