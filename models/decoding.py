"""Conversion to msgspec types that several threads may begin at once."""

from __future__ import annotations

import functools
import threading
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

# msgspec builds its description of a type at the type's first use, and lets other threads see it while it is built:
# a thread that uses it then crashes the interpreter (seen with msgspec 0.22). So it is built under a lock.
_lock = threading.Lock()


def convert(value: Any, kind: type[T], *, strict: bool = True) -> T:  # noqa: ANN401
    """Convert ``value`` as :func:`msgspec.convert` does. Thread-safe, also where ``kind`` is used for the first time.

    Raises:
        msgspec.ValidationError: The value does not fit.
    """
    _build_description(kind)
    return msgspec.convert(value, kind, strict=strict)


@functools.cache
def _build_description(kind: type[Any]) -> None:
    with _lock:
        msgspec.json.Decoder(kind)
