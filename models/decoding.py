"""Conversion to msgspec types that several threads may begin at once."""

from __future__ import annotations

import threading
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

# msgspec builds its description of a type at the type's first use, and lets other threads see it while it is built:
# a thread that uses it then crashes the interpreter (seen with msgspec 0.22). So it is built under a lock.
_lock = threading.Lock()
_described: set[type[Any]] = set()


def convert(value: Any, kind: type[T], *, strict: bool = True) -> T:  # noqa: ANN401
    """Convert ``value`` as :func:`msgspec.convert` does. Thread-safe, also at the first use of ``kind``."""
    if kind not in _described:
        with _lock:
            msgspec.json.Decoder(kind)
        _described.add(kind)
    return msgspec.convert(value, kind, strict=strict)
