"""Find keys that occur twice in a JSON object; a decoder silently keeps only the last of them."""

from __future__ import annotations

import json
import re
from collections import Counter

_KEY_END = re.compile(rb'"[ \t\n\r]*:')


def duplicate_key(data: bytes, value: object) -> str | None:
    """Return a key that an object in ``data`` has more than once, or None.

    Args:
        data: JSON in UTF-8.
        value: ``data`` decoded; without duplicate keys it has as many keys as ``data`` has ends of keys (``":``).

    Raises:
        RecursionError: ``data`` is nested too deeply.
    """
    # A string may contain the end of a key too, so if the counts differ, a slower decoder that sees duplicates decides.
    if len(_KEY_END.findall(data)) == _count_keys(value):
        return None
    duplicates: list[str] = []

    def note(pairs: list[tuple[str, object]]) -> None:
        duplicates.extend(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)

    json.loads(data, object_pairs_hook=note)
    return duplicates[0] if duplicates else None


def _count_keys(value: object) -> int:
    count = 0
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            count += len(each)
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)
    return count
