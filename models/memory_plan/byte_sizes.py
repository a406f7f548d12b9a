"""Parse and format sizes in bytes."""

from __future__ import annotations

import re

from shrag.messages.text import Text

GIB = 2**30
MIB = 2**20

_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": MIB, "GIB": GIB, "TIB": 2**40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]i?B)", re.IGNORECASE | re.ASCII)


def parse_size(text: str) -> int:
    """Parse a number with a decimal unit (``GB``) or binary unit (``GiB``) to bytes, rounded down.

    Raises ``ValueError`` for any other unit, since ``50G`` has two meanings that differ by 7 %.

    >>> parse_size("50GB"), parse_size("1.5 GiB")
    (50000000000, 1610612736)
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(
            Text("{text!r} is not a size: write a number and KB, MB, GB, TB, KiB, MiB, GiB or TiB.", text=text)
        )
    digits, unit = match.groups()
    whole, _, fraction = digits.partition(".")
    # Integer arithmetic is exact; a float would be some bytes off.
    scale: int = 10 ** len(fraction)
    return int(whole + fraction) * _UNITS[unit.upper()] // scale


def both_units(size: int) -> str:
    """Return a size as text in decimal and in binary units.

    >>> both_units(50 * 10**9)
    '50.00 GB (46.57 GiB)'
    """
    return f"{size / 1e9:.2f} GB ({size / GIB:.2f} GiB)"


def gib(size: int) -> str:
    """Return a size as text in GiB with two decimals.

    >>> gib(64 * 2**20)
    '0.06 GiB'
    """
    return f"{size / GIB:.2f} GiB"
