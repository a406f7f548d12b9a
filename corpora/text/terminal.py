"""Escape characters that a terminal would execute or hide in foreign text: field names, file names, models' answers."""

from __future__ import annotations

import re

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def escape_controls(text: str) -> str:
    r"""Return ``text`` with control, bidirectional and surrogate characters as ``\uXXXX``; tabs and newlines stay.

    JSON can have these characters only in strings, where the escapes mean the same.

    >>> escape_controls("a\x1b[2J\tb")
    'a\\u001b[2J\tb'
    """
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
