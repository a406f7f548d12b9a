"""A record's address for agents: ``shrag://document/DOCID``, with ``?index=NAME`` where it is not the first index's."""

from __future__ import annotations

from urllib.parse import parse_qs, quote, unquote, urlsplit

from shrag.corpora.records import Record
from shrag.serving.errors import QuestionError

TEMPLATE = "shrag://document/{docid}{?index}"
"""RFC 6570."""

LONGEST_URL = 1_024
_PREFIX = "shrag://document/"


def document_uri(docid: str, index: str = "") -> str:
    """Return the URI of a record; ``index`` is left out for the first one served.

    >>> document_uri("A#1/가", "sci")
    'shrag://document/A%231%2F%EA%B0%80?index=sci'
    """
    return _PREFIX + quote(docid, safe="") + (f"?index={quote(index, safe='')}" if index else "")


def read_document_uri(uri: str) -> tuple[str, str]:
    """Return the docid and the index that ``uri`` names, the index empty for the first; nothing of it is a path.

    Raises :class:`QuestionError`.

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
        raise QuestionError("unknown_resource", f"There is no such resource: a record is {TEMPLATE}.")
    return docid, query.get("index", [""])[0]


def citable_url(record: Record, index: str = "") -> str:
    """Return what a client can cite ``record`` by: its own link, else its URI, empty where neither is short enough.

    A link is given as the record has it, when it is one a browser opens without running anything.
    """
    for url in (record.link, document_uri(record.docid, index)):
        if url.startswith(("https://", "http://", _PREFIX)) and len(url) <= LONGEST_URL and url.isprintable():
            return url
    return ""
