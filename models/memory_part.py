"""One line of a memory plan."""

from __future__ import annotations

from typing import NamedTuple


class Part(NamedTuple):
    """What takes ``size`` bytes of the card; ``exact`` where that was read or computed, else it is an estimate.

    ``says`` is where the number comes from.
    """

    name: str
    size: int
    exact: bool
    says: str
