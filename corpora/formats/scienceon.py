"""Read search results of ScienceON in JSON, CSV or XML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from shrag.corpora.errors import CorpusError, RejectedLine
from shrag.corpora.readers.csv_reader import column_names, read_csv
from shrag.corpora.readers.fields import bibliography, docid_field, other_fields, text_field, with_unread_year
from shrag.corpora.readers.item import ParsedItem, SourceItem, parse_items
from shrag.corpora.readers.json_reader import read_objects
from shrag.corpora.readers.source import read_head
from shrag.corpora.readers.xml_reader import read_xml
from shrag.corpora.records import Record
from shrag.corpora.text.sentences import detect_language
from shrag.messages.text import Text

_HEAD = 65_536

# Field → its names: SHRAG's name, the metaCode and the Korean metaName of ScienceON's interface, and variants. The
# metaNames are names of columns too.
_NAMES: dict[str, tuple[str, ...]] = {
    "CN": ("cn", "문헌번호"),
    "title": ("title", "논문명", "보고서제목", "제목", "title2"),
    "abstract": ("abstract", "초록", "abstract2"),
    "author": ("author", "authors", "저자", "저자명"),
    "journal": ("journal", "journalname", "저널명", "학술지명"),
    "publisher": ("publisher", "출판사(발행기관)", "발행기관", "출판사"),
    "year": ("year", "pubyear", "발행년", "발행년도", "발행연도"),
    "link": ("link", "contenturl", "scienceon상세링크", "상세링크"),
    "keyword": ("keyword", "keywords", "키워드", "주제어"),
    "doi": ("doi",),
    "volume": ("volume", "volno1", "volumeno", "권번호", "권"),
    "issue": ("issue", "volno2", "issueno", "호번호", "호"),
    "pages": ("pages", "pageinfo", "페이지정보", "페이지"),
    "type": ("type", "dbcode", "db코드", "db 코드", "자료유형"),
}
_DATABASE = re.compile(r"(JAKO|JAFO|NART|DIKO|CFKO|CFFO|NPAP|TRKO|TRFO)\d")
_NAME_OF = {alias: name for name, aliases in _NAMES.items() for alias in aliases}
_RANK_OF = {alias: rank for aliases in _NAMES.values() for rank, alias in enumerate(aliases)}


def read_scienceon(path: Path) -> Iterator[ParsedItem]:
    """Yield the records of one file in JSON, CSV or XML."""
    return parse_items(_items(path), parse_scienceon)


def parse_scienceon(fields: Mapping[str, object]) -> Record:
    """Return the record of one search result; it is complete if it has a title and an abstract."""
    known, other = _known(fields)
    if not known.get("type"):
        known["type"] = _type_of_number(known.get("CN"))
    docid = docid_field(known, "CN")
    title = text_field(known, "title")
    abstract = text_field(known, "abstract")
    if not title and not abstract:
        raise RejectedLine(Text("record {docid} has neither a title nor an abstract", docid=docid))
    about = bibliography(known)
    return Record(
        docid=docid,
        title=title,
        text=abstract,
        language=detect_language(abstract or title),
        complete=bool(title and abstract),
        other=with_unread_year(other, known, about["year"]),
        **about,
    )


def _items(path: Path) -> Iterator[SourceItem]:
    head = read_head(path, _HEAD)
    if head.lstrip().startswith(b"<"):
        return read_xml(path)
    columns = column_names(head)
    if "CN" in (_NAME_OF.get(column.casefold()) for column in columns):
        return read_csv(path)
    if path.name.removesuffix(".gz").endswith((".csv", ".tsv")) and not head.lstrip().startswith((b"{", b"[")):
        raise CorpusError(
            Text(
                "{path} has no column CN (its first line has {columns}): name the columns.",
                path=path,
                columns=", ".join(columns[:8]),
            )
        )
    return read_objects(path)


def _known(fields: Mapping[str, object]) -> tuple[dict[str, object], tuple[tuple[str, str], ...]]:
    """Return the known fields under SHRAG's names, and the other fields as they came.

    If a field has several names with a value, the best name is used; the others count as other fields.
    """
    found: dict[str, tuple[int, str]] = {}
    for key, value in fields.items():
        alias = key.strip().casefold()
        name = _NAME_OF.get(alias)
        if name and value not in ("", None) and (name not in found or _RANK_OF[alias] < found[name][0]):
            found[name] = (_RANK_OF[alias], key)
    known = {name: fields[key] for name, (_, key) in found.items()}
    return known, other_fields(fields, {key for _, key in found.values()})


def _type_of_number(number: object) -> str:
    """Return the code of the database at the start of an identifier: ``JAKO`` in ``JAKO202012345678901``."""
    match = _DATABASE.match(number) if isinstance(number, str) else None
    return match.group(1) if match else ""
