"""Thread-safe conversion to msgspec types."""

from __future__ import annotations

import threading
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

# msgspec builds its description of a type at the type's first use, and other threads can see it before it is finished.
# A thread that uses it then crashes the interpreter (seen with msgspec 0.22), so it is built under a lock.
_lock = threading.Lock()
_described: set[type[Any]] = set()


def convert(value: Any, kind: type[T], *, strict: bool = True) -> T:  # noqa: ANN401
    """Convert ``value`` as :func:`msgspec.convert` does, but thread-safe even at the first use of ``kind``."""
    if kind not in _described:
        with _lock:
            msgspec.json.Decoder(kind)
        _described.add(kind)
    return msgspec.convert(value, kind, strict=strict)
