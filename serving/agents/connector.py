"""Results of the tools ``search`` and ``fetch`` in the form that OpenAI's connectors read; URIs of documents."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, quote, unquote, urlsplit

import msgspec

from shrag.corpora.records import Record
from shrag.messages.text import Text
from shrag.serving.errors import QuestionError

TEMPLATE = "shrag://document/{docid}{?index}"
"""The URI of a record, as a template of RFC 6570."""

LONGEST_URL = 1_024
_PREFIX = "shrag://document/"


def document_uri(docid: str, index: str = "") -> str:
    """Return the URI of a record; ``index`` is empty for the first served index.

    >>> document_uri("A#1/가", "sci")
    'shrag://document/A%231%2F%EA%B0%80?index=sci'
    """
    return _PREFIX + quote(docid, safe="") + (f"?index={quote(index, safe='')}" if index else "")


def read_document_uri(uri: str) -> tuple[str, str]:
    """Return the docid and the index that ``uri`` names; the index is empty for the first one.

    ``..`` has no special meaning in a docid. Raises :class:`QuestionError` for any other URI.

    >>> read_document_uri("shrag://document/A%231%2F..?index=sci")
    ('A#1/..', 'sci')
    """
    try:
        parts = urlsplit(uri)
        query = parse_qs(parts.query, strict_parsing=bool(parts.query), max_num_fields=1)
        docid = unquote(parts.path.removeprefix("/"), errors="strict")
    except ValueError:
        parts, query, docid = urlsplit(""), {}, ""
    if (parts.scheme, parts.netloc) != ("shrag", "document") or not docid or parts.fragment or set(query) - {"index"}:
        raise QuestionError(
            "unknown_resource", Text("There is no such resource: a record is {template}.", template=TEMPLATE)
        )
    return docid, query.get("index", [""])[0]


def citable_url(record: Record, index: str = "") -> str:
    """Return the URL by which a client can cite ``record``: its own link, else its URI; empty if neither can be used.

    Neither may be too long. A link is used only if a browser opens it without running anything, and it stays unchanged.
    """
    for url in (record.link, document_uri(record.docid, index)):
        if url.startswith(("https://", "http://", _PREFIX)) and len(url) <= LONGEST_URL and url.isprintable():
            return url
    return ""


_ELLIPSIS = "…"


def cut_to_json(text: str, most: int) -> str:
    """Return ``text``, truncated so that its JSON has at most ``most`` bytes, the ellipsis included."""
    if len(text) * 6 <= most or _json_bytes(text) <= most:
        return text
    ends = range(1, min(len(text), most) + 1)
    fits = bisect_right(ends, most, key=lambda end: _json_bytes(text[:end] + _ELLIPSIS))
    return text[:fits].rstrip() + _ELLIPSIS


def _json_bytes(text: str) -> int:
    """Return the size in bytes of ``text`` in JSON, without its quotation marks."""
    return len(msgspec.json.encode(text)) - 2


MOST_FETCHED_CHARACTERS = 64_000
MOST_RESULT_BYTES = 2_048

_MOST_TITLE_BYTES = 240
_MOST_SNIPPET_BYTES = 240


@dataclass(frozen=True, slots=True)
class ConnectorResult:
    """A record found: what ``fetch`` takes as its ``id``, the beginning of its text, and a URL to cite it by."""

    id: str
    title: str
    text: str
    url: str


@dataclass(frozen=True, slots=True)
class DocumentMetadata:
    """What is known of a record fetched. ``truncated``: get_document has the rest of its text."""

    index: str
    index_generation: int
    language: str
    year: int | None
    journal: str
    publisher: str
    authors: tuple[str, ...]
    doi: str
    type: str
    truncated: bool


@dataclass(frozen=True, slots=True)
class FetchReply:
    """A record with its text, of at most 64,000 characters."""

    id: str
    title: str
    text: str
    url: str
    metadata: DocumentMetadata


def results_of(records: Sequence[Record], index: str = "") -> tuple[ConnectorResult, ...]:
    """Return ``records`` of ``index`` as results, in their order; an empty ``index`` is the first one served."""
    results = []
    for record in records:
        title, text = cut_to_json(record.title, _MOST_TITLE_BYTES), cut_to_json(record.text, _MOST_SNIPPET_BYTES)
        result = ConnectorResult(record.docid, title, text, citable_url(record, index))
        is_bounded = len(msgspec.json.encode(result)) <= MOST_RESULT_BYTES
        results.append(result if is_bounded else replace(result, text="", url=""))
    return tuple(results)


def results_text(results: Sequence[ConnectorResult], message: str, read_as: str = "") -> str:
    """Return ``results`` as JSON, with the ``message`` and with how the question was read, unless these are empty."""
    about = {name: text for name, text in (("message", message), ("read_as", read_as)) if text}
    return msgspec.json.encode({"results": results, **about}).decode()


def fetch_reply(index: str, generation: int, record: Record, named: str = "") -> FetchReply:
    """Return ``record`` of ``index``; ``named`` is the index's name in the URI, which is empty for the first index."""
    return FetchReply(
        id=record.docid,
        title=record.title,
        text=record.text[:MOST_FETCHED_CHARACTERS],
        url=citable_url(record, named),
        metadata=DocumentMetadata(
            index=index,
            index_generation=generation,
            language=record.language,
            year=record.year,
            journal=record.journal,
            publisher=record.publisher,
            authors=record.authors,
            doi=record.doi,
            type=record.type,
            truncated=len(record.text) > MOST_FETCHED_CHARACTERS,
        ),
    )
