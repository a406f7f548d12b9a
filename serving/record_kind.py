"""What kind of publication a record is, as far as its fields say: references and filters must agree on it."""

from __future__ import annotations

from typing import Literal

from shrag.corpora.records import Record

RecordKind = Literal["article", "other"]
"""``article``: published in a journal. ``other``: a report, a thesis or whatever names no journal."""

RECORD_KINDS: tuple[RecordKind, ...] = ("article", "other")


def kind_of(record: Record) -> RecordKind:
    """Return the kind of ``record``."""
    return "article" if record.journal else "other"
