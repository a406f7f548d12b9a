"""The endpoint of a language model: its address, its timeouts, and the models that it reports."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from shrag.messages.text import Text


class Address(NamedTuple):
    """A parsed address.

    ``given`` is the user's spelling. ``root`` is the URL without ``prefix`` (``/v1``). ``socket`` is the path of a Unix
    socket, or empty.
    """

    given: str
    root: str
    prefix: str
    socket: str

    @property
    def base_url(self) -> str:
        """The URL to which ``/chat/completions`` is appended."""
        return self.root + self.prefix

    @property
    def host(self) -> str:
        """The host and port, or ``unix:`` and the socket's path."""
        return f"unix:{self.socket}" if self.socket else urlsplit(self.root).netloc


class Timeouts(NamedTuple):
    """The seconds allowed to connect, to wait for the next bytes, and for a response in total."""

    connect: float
    read: float
    total: float


class EndpointHealth(NamedTuple):
    """The result of a probe.

    ``models`` are the names of the served models, and ``model`` is the one that requests go to. ``max_model_len`` is
    its context length in tokens, None if not reported. ``engine`` is like ``vLLM 0.32.0``, empty for other servers.
    """

    models: tuple[str, ...]
    model: str
    max_model_len: int | None
    engine: str


def parse_address(given: str) -> Address:
    """Parse ``http://HOST:PORT/v1``, ``https://…`` or ``unix:/PATH``; ``/v1`` is the default path.

    Raises ``ValueError`` with the reason if the address is invalid.
    """
    if given.startswith("unix:"):
        path = given.removeprefix("unix:")
        if not path.startswith("/") or not path.strip("/"):
            raise ValueError(Text("{given!r} names no socket: write unix:/PATH, an absolute path", given=given))
        return Address(given, "http://localhost", "/v1", "/" + path.lstrip("/"))
    if "@" in given:
        raise ValueError(Text("an address with a user name or password would be logged: give the key as api_key"))
    parts = urlsplit(given)
    if parts.scheme not in {"http", "https"} or not parts.hostname or not _has_valid_port(given):
        raise ValueError(
            Text("{given!r} is no address of an endpoint: write http://HOST:PORT/v1 or unix:/PATH", given=given)
        )
    if parts.query or parts.fragment:
        raise ValueError(
            Text("{given!r} has a query or a fragment: an endpoint's address ends with its path", given=given)
        )
    path = parts.path.rstrip("/")
    root, prefix = (path.removesuffix("/v1"), "/v1") if path.endswith("/v1") else (path, "" if path else "/v1")
    return Address(given, f"{parts.scheme}://{parts.netloc}{root}", prefix, "")


def _has_valid_port(given: str) -> bool:
    try:
        return urlsplit(given).port != 0
    except ValueError:
        return False
