"""What connectors expect that know no tool but ``search`` and ``fetch``: ids to fetch by, titles, and URLs to cite by.

The shapes are OpenAI's for such connectors; their text is the same as JSON, in one piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from shrag.corpora.records import Record
from shrag.serving.document_uri import citable_url
from shrag.serving.json_size import cut_to_json

MOST_FETCHED_CHARACTERS = 64_000
MOST_RESULT_BYTES = 2_048

_MOST_TITLE_BYTES = 240
_MOST_SNIPPET_BYTES = 240


@dataclass(frozen=True, slots=True)
class Result:
    """A record found: what ``fetch`` takes as its ``id``, the beginning of its text, and a URL to cite it by."""

    id: str
    title: str
    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Metadata:
    """What is known of a record fetched. ``cut``: get_document has the rest of its text."""

    index: str
    index_generation: int
    language: str
    year: int | None
    journal: str
    publisher: str
    authors: tuple[str, ...]
    cut: bool


@dataclass(frozen=True, slots=True)
class FetchReply:
    """A record with its text, up to 64,000 characters of it."""

    id: str
    title: str
    text: str
    url: str
    metadata: Metadata


def results_of(records: Sequence[Record], index: str = "") -> tuple[Result, ...]:
    """Return ``records`` of ``index`` (empty: the first one served) as results, in their order."""
    return tuple(_result(record, index) for record in records)


def _result(record: Record, index: str) -> Result:
    title, text = cut_to_json(record.title, _MOST_TITLE_BYTES), cut_to_json(record.text, _MOST_SNIPPET_BYTES)
    result = Result(record.docid, title, text, citable_url(record, index))
    return result if len(msgspec.json.encode(result)) <= MOST_RESULT_BYTES else replace(result, text="", url="")


def results_text(results: Sequence[Result], message: str) -> str:
    """Return ``results`` as JSON, with a ``message`` where there are none."""
    said: dict[str, object] = {"results": results}
    return msgspec.json.encode(said | {"message": message} if message else said).decode()


def fetch_reply(index: str, generation: int, record: Record, named: str = "") -> FetchReply:
    """Return ``record`` of ``index``; ``named`` is the index as the caller named it, empty for the first one."""
    return FetchReply(
        id=record.docid,
        title=record.title,
        text=record.text[:MOST_FETCHED_CHARACTERS],
        url=citable_url(record, named),
        metadata=Metadata(
            index=index,
            index_generation=generation,
            language=record.language,
            year=record.year,
            journal=record.journal,
            publisher=record.publisher,
            authors=record.authors,
            cut=len(record.text) > MOST_FETCHED_CHARACTERS,
        ),
    )


def fetch_text(reply: FetchReply) -> str:
    """Return ``reply`` as JSON."""
    return msgspec.json.encode(reply).decode()
