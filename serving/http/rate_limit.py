"""Rate limit of failed API keys: a token bucket for each client address."""

from __future__ import annotations

import ipaddress
import math
import time
from collections.abc import Callable

from cachetools import FIFOCache

BURST = 10
"""Wrong keys that an address may send before it is limited."""

TOKENS_PER_SECOND = 1.0
"""Keys that are compared per second from then on."""

MOST_ADDRESSES = 1_024
"""Addresses that are kept. The one that has sent no wrong key for the longest time is dropped first."""


class FailedKeys:
    """A token bucket for each address that sent a wrong key. Right keys take no token.

    While an address has no token, none of its keys is compared, not even the right one. Otherwise an attacker could
    recognize the right key by its response. ``clock`` returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left = FIFOCache[str, tuple[float, float]](MOST_ADDRESSES)

    def wait(self, address: str) -> int:
        """Return the seconds until a key from ``address`` is compared again; 0 if it is compared now."""
        left = self._tokens(_network(address))
        return 0 if left >= 1 else max(1, math.ceil((1 - left) / TOKENS_PER_SECOND))

    def failed(self, address: str) -> None:
        """Take a token for a wrong key from ``address``."""
        network = _network(address)
        self._left[network] = (self._tokens(network) - 1, self._clock())

    def _tokens(self, network: str) -> float:
        left, noted = self._left.get(network, (float(BURST), self._clock()))
        return min(BURST, left + (self._clock() - noted) * TOKENS_PER_SECOND)


def _network(address: str) -> str:
    """Return the network to limit: an IPv4 address, or the /64 of an IPv6 address, since one host can have a /64."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is None:
            return str(ipaddress.ip_network((parsed.packed, 64), strict=False))
        return str(parsed.ipv4_mapped)
    return address
