"""RIS entries of records, with the tags that Zotero and EndNote read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shrag.corpora.records import Record
from shrag.serving.references.fields import document_type, one_line, page_range


def ris_entries(records: Iterable[Record]) -> Iterator[str]:
    """Yield an entry for each record. Each field is on one line, so that no value can begin another field."""
    return map(_entry, records)


def _entry(record: Record) -> str:
    first, last = page_range(record.pages)
    kind = document_type(record).ris
    fields: list[tuple[str, str]] = [("TY", kind)]
    fields += [("AU", author) for author in record.authors]
    fields += [
        ("TI", record.title or record.docid),
        ("JO" if kind == "JOUR" else "T2", record.journal),
        ("PY", str(record.year) if record.year is not None else ""),
        ("VL", record.volume),
        ("IS", record.issue),
        ("SP", first),
        ("EP", last),
        ("PB", record.publisher),
        ("DO", record.doi),
        ("UR", record.link),
        ("AB", record.text),
    ]
    fields += [("KW", keyword) for keyword in record.keywords]
    fields += [("LA", record.language if record.language != "und" else ""), ("ID", record.docid)]
    lines = [f"{tag}  - {value}" for tag, text in fields if (value := one_line(text))]
    return "\n".join([*lines, "ER  - ", ""])
