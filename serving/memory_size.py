"""How much memory a value takes, so that what is kept can be bounded in bytes."""

from __future__ import annotations

import sys
from dataclasses import fields, is_dataclass


def memory_size(value: object) -> int:
    """Return the bytes of ``value`` and all it holds: dataclasses, tuples, lists, dicts, and what has no parts.

    An object met twice counts once. What the allocator adds is not in it: some percent.
    """
    counted: set[int] = set()
    waiting = [value]
    size = 0
    while waiting:
        each = waiting.pop()
        if id(each) in counted:
            continue
        counted.add(id(each))
        size += sys.getsizeof(each)
        if is_dataclass(each):
            waiting.extend(getattr(each, field.name) for field in fields(each))
        elif isinstance(each, dict):
            waiting.extend(each.keys())
            waiting.extend(each.values())
        elif isinstance(each, tuple | list):
            waiting.extend(each)
    return size
