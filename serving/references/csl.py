"""CSL-JSON items of records (Citation Style Language 1.0.2, schema csl-data.json)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from shrag.corpora.records import Record
from shrag.serving.references.fields import document_type, one_line


def csl_json(records: Iterable[Record]) -> str:
    """Return a JSON array with an item for each record."""
    return msgspec.json.format(msgspec.json.encode([_item(record) for record in records]), indent=2).decode() + "\n"


def _item(record: Record) -> dict[str, Any]:
    texts = {
        "title": record.title or record.docid,
        "container-title": record.journal,
        "publisher": record.publisher,
        "volume": record.volume,
        "issue": record.issue,
        "page": record.pages,
        "DOI": record.doi,
        "URL": record.link,
        "abstract": record.text,
        "language": record.language if record.language != "und" else "",
        "keyword": ", ".join(record.keywords),
    }
    item: dict[str, Any] = {"id": record.docid, "type": document_type(record).csl}
    item |= {name: value for name, text in texts.items() if (value := one_line(text))}
    if record.authors:
        item["author"] = [_name(one_line(author)) for author in record.authors]
    if record.year is not None:
        item["issued"] = {"date-parts": [[record.year]]}
    return item


def _name(author: str) -> dict[str, str]:
    family, comma, given = author.partition(",")
    return {"family": family.strip(), "given": given.strip()} if comma and given.strip() else {"literal": author}
