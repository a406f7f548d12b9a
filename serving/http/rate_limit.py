"""Token bucket for failed keys."""

from __future__ import annotations

import ipaddress
import math
import time
from collections.abc import Callable

from cachetools import FIFOCache

AT_ONCE = 10
"""Wrong keys an address may send before it is slowed down."""

A_SECOND = 1.0
"""Keys compared a second from then on."""

MOST_ADDRESSES = 1_024
"""Addresses remembered; the one that failed longest ago is forgotten first."""


class FailedKeys:
    """A token bucket for each address that sent a wrong key; right keys take no token.

    While an address has none left, no key of its is compared, the right one neither: otherwise whoever guesses would
    only have to watch for the one answer that is not a refusal. ``clock`` gives seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left = FIFOCache[str, tuple[float, float]](MOST_ADDRESSES)

    def wait(self, address: str) -> int:
        """Return in how many seconds a key from ``address`` will be compared, 0 for now."""
        left = self._tokens(_network(address))
        return 0 if left >= 1 else max(1, math.ceil((1 - left) / A_SECOND))

    def failed(self, address: str) -> None:
        """Note a wrong key from ``address``."""
        network = _network(address)
        self._left[network] = (self._tokens(network) - 1, self._clock())

    def _tokens(self, network: str) -> float:
        left, noted = self._left.get(network, (float(AT_ONCE), self._clock()))
        return min(AT_ONCE, left + (self._clock() - noted) * A_SECOND)


def _network(address: str) -> str:
    """Return whom ``address`` stands for: a host has one IPv4 address, and as many IPv6 ones as a /64 holds."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is None:
            return str(ipaddress.ip_network((parsed.packed, 64), strict=False))
        return str(parsed.ipv4_mapped)
    return address
