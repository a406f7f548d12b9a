"""What tells one record's content from another's."""

from __future__ import annotations

import hashlib

import msgspec

from shrag.corpora.records import Record

DIGEST_BYTES = 16


def record_digest(record: Record) -> bytes:
    """Return the BLAKE2b digest (:data:`DIGEST_BYTES` bytes) over all fields of a record, its link included."""
    return hashlib.blake2b(msgspec.json.encode(record), digest_size=DIGEST_BYTES).digest()
