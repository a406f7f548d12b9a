"""Endpoint of a language model: address, timeouts, and what it reports of itself."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit


class Address(NamedTuple):
    """Where an endpoint is: ``root`` as an URL without ``/v1``, over the Unix ``socket`` where that is not empty."""

    given: str
    root: str
    prefix: str
    socket: str

    @property
    def base_url(self) -> str:
        """The URL that ``/chat/completions`` is put behind."""
        return self.root + self.prefix


class Timeouts(NamedTuple):
    """Seconds: to connect, for the next bytes, and for an answer as a whole."""

    connect: float
    read: float
    total: float


class EndpointHealth(NamedTuple):
    """What an endpoint said when it was asked.

    ``models`` are the names it serves; ``model`` the one that would be asked, ``max_model_len`` the most tokens its
    prompt and answer may have together, None where it does not say; ``engine`` is ``vLLM 0.32.0``, or empty.
    """

    models: tuple[str, ...]
    model: str
    max_model_len: int | None
    engine: str


def read_address(given: str) -> Address:
    """Return the address written as ``http://HOST:PORT/v1``, ``https://…`` or ``unix:/PATH``.

    ``/v1`` is put where there is no path. Raises ``ValueError``, saying what is wrong with it.
    """
    if given.startswith("unix:"):
        path = given.removeprefix("unix:")
        if not path.startswith("/") or not path.strip("/"):
            raise ValueError(f"{given!r} names no socket: write unix:/PATH, from the root")
        return Address(given, "http://localhost", "/v1", "/" + path.lstrip("/"))
    if "@" in given:
        raise ValueError("an address with a name or password in it ends up in logs: give the key as api_key")
    parts = urlsplit(given)
    if parts.scheme not in {"http", "https"} or not parts.hostname or not _has_sound_port(given):
        raise ValueError(f"{given!r} is no address of an endpoint: write http://HOST:PORT/v1 or unix:/PATH")
    if parts.query or parts.fragment:
        raise ValueError(f"{given!r} has a query or a fragment: an endpoint's address ends with its path")
    path = parts.path.rstrip("/")
    root, prefix = (path.removesuffix("/v1"), "/v1") if path.endswith("/v1") else (path, "" if path else "/v1")
    return Address(given, f"{parts.scheme}://{parts.netloc}{root}", prefix, "")


def _has_sound_port(given: str) -> bool:
    try:
        return urlsplit(given).port != 0
    except ValueError:
        return False
