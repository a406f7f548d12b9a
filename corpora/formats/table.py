"""Read tables (CSV, spreadsheets, Parquet) and JSON objects; the user names their columns, or usual names are found."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from shrag.corpora.errors import CorpusError, RejectedLine
from shrag.corpora.formats.columns import Columns, Mapped, count_recognised, map_columns
from shrag.corpora.readers.csv_reader import read_csv
from shrag.corpora.readers.fields import bibliography, docid_field, other_fields, text_field, with_unread_year
from shrag.corpora.readers.item import ParsedItem, SourceItem, parse_items
from shrag.corpora.readers.json_reader import read_objects
from shrag.corpora.readers.source import read_head
from shrag.corpora.readers.spreadsheet_reader import OLE_MAGIC, read_spreadsheet
from shrag.corpora.readers.zip_archive import ZIP_MAGIC
from shrag.corpora.records import Language, Record
from shrag.corpora.text.sentences import detect_language
from shrag.messages.text import Text, joined

PARQUET_MAGIC = b"PAR1"

_HEAD = 4_096
_SHOWN_COLUMNS = 12
_SAMPLE = 20
"""How many of the first items are searched for names of columns."""

_INVERTED = "abstract_inverted_index"
_DEEPEST = 4
_DIGEST_BYTES = 10
_HANGUL_NAMES = re.compile(r"[가-힣\s,·]+")
_LANGUAGES: dict[str, Language] = {
    **dict.fromkeys(("ko", "kor", "korean", "한국어", "국문"), "ko"),
    **dict.fromkeys(("en", "eng", "english", "영어", "영문"), "en"),
}


class TableLayout(NamedTuple):
    """The layout of a file: its kind, such as CSV, the columns of each field, the other columns, and unread sheets."""

    kind: str
    mapped: Mapped
    others: tuple[str, ...]
    unread: tuple[str, ...]

    def shown(self) -> list[str]:
        """Return a readable line ``field ← column`` for each field."""
        lines = [f"{field} ← {' + '.join(names)}" for field, names in self.mapped.items() if names]
        if not self.mapped.get("id"):
            has_doi = bool(self.mapped.get("doi"))
            lines.insert(0, Text("id ← doi, else a digest of the row") if has_doi else Text("id ← a digest of the row"))
        return lines


def read_table(path: Path, columns: Columns) -> Iterator[ParsedItem]:
    """Yield the items of one file.

    Raises:
        CorpusError: No column is a title or a text; or, at the file's end, no record has a column that the user named,
            whose name may be misspelled.
    """
    kind, found_items, _ = _items(path)
    items = iter(found_items)
    first = list(islice(items, _SAMPLE))
    mapped = _mapping(path, first, columns)
    names = dict.fromkeys(_names(first))
    in_first = mapped
    unseen = {name for _, name in columns.named if name}
    records = 0

    def parse(found: Mapping[str, object]) -> Record:
        nonlocal records, mapped
        if kind == "JSON" and (new := dict.fromkeys(_paths(found))).keys() - names.keys():
            # A key that the first objects lack, such as the abstract, may be in later ones.
            names.update(new)
            best = (name for group in mapped.values() for name in group)
            mapped = {**map_columns([*best, *new], columns), **in_first}
        if unseen:
            unseen.difference_update([name for name in unseen if find_value(found, name) is not None])
        record = parse_row(found, mapped)
        records += 1
        return record

    yield from parse_items(chain(first, items), parse)
    if unseen and records:
        there = ", ".join(list(names)[:_SHOWN_COLUMNS])
        raise CorpusError(
            Text(
                "{path} has no {unseen!r} in its {records} records: their columns are {columns}.",
                path=path,
                unseen=min(unseen),
                records=records,
                columns=there,
            )
        )


def inspect_table(path: Path, columns: Columns) -> TableLayout:
    """Return the layout of a file, found from its first items.

    Raises:
        CorpusError: As :func:`read_table`, or the user named a column that the header of a table lacks.
    """
    kind, items, unread = _items(path)
    first = list(islice(items, _SAMPLE))
    names = _names(first)
    if kind != "JSON" and names:  # a key that the first objects lack may be in later ones
        lacking = [name for _, name in columns.named if name and name not in names]
        if lacking:
            raise CorpusError(
                Text(
                    "{path} has no column {name!r}: its columns are {columns}.",
                    path=path,
                    name=lacking[0],
                    columns=", ".join(names[:_SHOWN_COLUMNS]),
                )
            )
    mapped = _mapping(path, first, columns)
    used = {name for names in mapped.values() for name in names}
    return TableLayout(kind, mapped, tuple(name for name in names if name not in used), unread)


def parse_row(found: Mapping[str, object], mapped: Mapped) -> Record:
    """Return the record of one row or object; it is complete if it has a text.

    If no column holds the identifier, it is the DOI, and without a DOI a digest of the row.

    Raises:
        RejectedLine: It has no identifier, or neither a title nor a text, or it is a list of records.
    """
    if several := _several(found, mapped):
        raise RejectedLine(
            Text(
                "{several!r} is a list of records in one object: write its elements as a JSON array, or one a line",
                several=several,
            )
        )
    flat: dict[str, object] = {
        field: (_joined if field in ("title", "text", "journal", "publisher", "pages") else _first)(found, names)
        for field, names in mapped.items()
    }
    for field in ("author", "keyword"):
        flat[field] = _listed(found, mapped.get(field, ()))
    about = bibliography(flat)
    if mapped.get("id"):
        if flat["id"] in (None, ""):
            raise RejectedLine(
                Text(
                    "no identifier: {mapped!r} is missing or empty; this one has {found}; name the column with "
                    "--column id=NAME",
                    mapped=mapped["id"][0],
                    found=", ".join(list(found)[:_SHOWN_COLUMNS]) or Text("none"),
                )
            )
        docid = docid_field(flat, "id")
    else:
        docid = about["doi"] or _row_digest(found)
    title, text = text_field(flat, "title"), text_field(flat, "text")
    if not title and not text:
        columns = joined((repr(name) for field in ("title", "text") for name in mapped.get(field, ())), Text(" and "))
        if not columns:  # of a format with fixed names, which are mapped only where they have a value
            raise RejectedLine(Text("record {docid} has neither a title nor a text", docid=docid))
        raise RejectedLine(
            Text(
                "record {docid} has neither a title nor a text: {columns} empty or missing",
                docid=docid,
                columns=columns,
            )
        )
    declared = str(flat.get("language") or "").strip().casefold()
    other = other_fields(_unused(found, {name for names in mapped.values() for name in names}), ())
    return Record(
        docid=docid,
        title=title,
        text=text,
        language=_LANGUAGES.get(declared) or detect_language(text or title),
        complete=bool(text),
        other=with_unread_year(other, flat, about["year"]),
        **about,
    )


def find_value(found: object, path: str) -> object:
    """Return the value at a dotted path, or None; if the path leads through lists, return a flat list of the values."""
    if isinstance(found, list):
        parts = [value for part in found if (value := find_value(part, path)) is not None]
        return [value for part in parts for value in (part if isinstance(part, list) else [part])] or None
    if not path or not isinstance(found, dict):
        return None
    if path in found:
        return found[path]
    head, dot, rest = path.partition(".")
    return find_value(found[head], rest) if dot and head in found else None


def _several(found: Mapping[str, object], mapped: Mapped) -> str:
    """Return the path of a list of objects that has the title and the identifier or the text of several records."""
    lists = {
        field: {at for name in mapped.get(field, ()) if name not in found for at in _lists(found, name)}
        for field in ("title", "id", "doi", "text")
    }
    return min(lists.pop("title") & set().union(*lists.values()), default="")


def _lists(found: Mapping[str, object], path: str) -> Iterator[str]:
    """Yield those beginnings of a path that lead to a list of several objects."""
    parts = path.split(".")
    for end in range(1, len(parts)):
        value = find_value(found, before := ".".join(parts[:end]))
        if isinstance(value, list) and sum(isinstance(part, dict) for part in value) > 1:
            yield before


def _unused(found: Mapping[str, object], used: set[str]) -> Mapping[str, object]:
    """Return the values that are in no field of the record; of an object that is read in part, those of its paths."""
    unused: dict[str, object] = {}
    for name, value in found.items():
        if name in used:
            continue
        if not any(path.startswith(f"{name}.") for path in used):
            unused[name] = value
            continue
        for path in _paths({name: value}):
            if not any(f"{path}.".startswith(f"{each}.") for each in used):
                unused[path] = find_value(found, path)
    return unused


def _items(path: Path) -> tuple[str, Iterator[SourceItem], tuple[str, ...]]:
    """Return the kind of a file, its items, and the names of the sheets that are not read."""
    head = read_head(path, _HEAD)
    if head.startswith(PARQUET_MAGIC):
        from shrag.corpora.store.parquet import read_table_rows

        return "Parquet", (SourceItem(number, 0, fields) for number, fields in enumerate(read_table_rows(path), 1)), ()
    if head.startswith((ZIP_MAGIC, OLE_MAGIC)):
        return "spreadsheet", *read_spreadsheet(path, count_recognised)
    if head.lstrip().startswith((b"{", b"[")):
        return "JSON", map(_with_abstract, read_objects(path)), ()
    return ("TSV" if head.split(b"\n", 1)[0].count(b"\t") else "CSV"), read_csv(path), ()


def _with_abstract(item: SourceItem) -> SourceItem:
    """Return an item; an abstract as OpenAlex has it, with the places of each word, becomes text."""
    fields = item.fields
    if not isinstance(fields, dict) or not isinstance(index := fields.get(_INVERTED), dict):
        return item
    places = [(at, word) for word, found in index.items() if isinstance(found, list) for at in found]
    words = [word for at, word in sorted(place for place in places if isinstance(place[0], int))]
    return item._replace(fields={**fields, _INVERTED: " ".join(words)})


def _mapping(path: Path, first: list[SourceItem], columns: Columns) -> Mapped:
    names = _names(first)
    mapped = map_columns(names, columns)
    if names and not mapped.get("title") and not mapped.get("text"):
        raise CorpusError(
            Text(
                "{path} has no column that is known as a title or a text: it has {names}; name them with "
                "--column title=NAME and --column text=NAME.",
                path=path,
                names=", ".join(names[:_SHOWN_COLUMNS]),
            )
        )
    return mapped


def _names(items: list[SourceItem]) -> list[str]:
    """Return the names of the fields of items; nested fields give dotted paths, down to a certain depth."""
    names: dict[str, None] = {}
    for item in items:
        if isinstance(item.fields, Mapping):
            names.update(dict.fromkeys(_paths(item.fields)))
    return list(names)


def _paths(value: object, before: str = "", depth: int = 1) -> Iterator[str]:
    if isinstance(value, list):
        for part in value[:_SAMPLE]:
            yield from _paths(part, before, depth)
    elif isinstance(value, dict):
        for name, part in value.items():
            path = f"{before}.{name}" if before else name
            inside = list(_paths(part, path, depth + 1)) if depth < _DEEPEST else []
            yield from inside or ([path] if name.strip() else [])


def _joined(found: Mapping[str, object], names: tuple[str, ...]) -> str:
    return " ".join(filter(None, (_as_text(find_value(found, name), name) for name in names)))


def _first(found: Mapping[str, object], names: tuple[str, ...]) -> object:
    for name in names:
        value = find_value(found, name)
        while isinstance(value, list):
            value = value[0] if value else None
        if value not in (None, ""):
            return None if isinstance(value, dict) else value
    return None


def _listed(found: Mapping[str, object], names: tuple[str, ...]) -> object:
    """Return a list of texts, or one text; Korean names that only commas separate get semicolons instead."""
    values = [value for name in names if (value := find_value(found, name)) not in (None, "")]
    if len(values) == 1 and not isinstance(values[0], list | dict):
        text = str(values[0])
        return text.replace(",", ";") if ";" not in text and _HANGUL_NAMES.fullmatch(text) else text
    parts = [part for value in values for part in (value if isinstance(value, list) else [value])]
    return [str(part) for part in parts if isinstance(part, str | int | float)] or None


def _as_text(value: object, key: str) -> str:
    if isinstance(value, list):
        return " ".join(_as_text(part, key) for part in value)
    if isinstance(value, dict):
        inner = ", ".join(f"{key}.{name}" for name in list(value)[:_SHOWN_COLUMNS])
        raise RejectedLine(
            Text("{key!r} is an object, expected text: name a key in it ({inner})", key=key, inner=inner)
        )
    return "" if value is None else str(value)


def _row_digest(found: Mapping[str, object]) -> str:
    data = msgspec.json.encode(sorted((name, value) for name, value in found.items() if value not in (None, "")))
    return f"row-{hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()}"
