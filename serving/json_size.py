"""How much of a text fits into so many bytes of JSON."""

from __future__ import annotations

import msgspec

_ELLIPSIS = "…"


def cut_to_json(text: str, most: int) -> str:
    """Return ``text``, or so much of its beginning that its JSON is at most ``most`` bytes with the sign of the cut."""
    if len(text) * 6 <= most or _json_bytes(text) <= most:
        return text
    low, high = 0, min(len(text), most)
    while low < high:
        middle = (low + high + 1) // 2
        if _json_bytes(text[:middle] + _ELLIPSIS) <= most:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + _ELLIPSIS


def _json_bytes(text: str) -> int:
    """Return the bytes of ``text`` in JSON, without its quotation marks."""
    return len(msgspec.json.encode(text)) - 2
