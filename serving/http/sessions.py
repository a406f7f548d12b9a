"""Signed session cookies."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable

from starlette.requests import cookie_parser

COOKIE = "shrag_session"
SECONDS = 12 * 3600
"""How long a browser stays signed in; it ends sooner when the server does."""


class Sessions:
    """Makes and checks cookies, signed by a secret that this process drew and nobody else has. ``clock``: seconds."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._secret = secrets.token_bytes(32)

    def begin(self, *, secure: bool) -> str:
        """Return the value of a ``Set-Cookie`` header; a ``secure`` cookie is sent back over TLS only."""
        until = str(int(self._clock()) + SECONDS)
        said = f"{until}.{secrets.token_hex(16)}"
        return _cookie(f"{said}.{self._sign(said)}", SECONDS, secure=secure)

    def holds(self, header: str) -> bool:
        """Say whether the ``Cookie`` header has a cookie of ours that has not expired."""
        said, _, signature = cookie_parser(header).get(COOKIE, "").rpartition(".")
        if not hmac.compare_digest(signature.encode("utf-8", "replace"), self._sign(said).encode()):
            return False
        return self._clock() < int(said.partition(".")[0])

    def _sign(self, said: str) -> str:
        return hmac.new(self._secret, said.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def end_session() -> str:
    """Return the value of a ``Set-Cookie`` header by which a browser forgets its cookie."""
    return _cookie("", 0, secure=False)


def _cookie(value: str, seconds: int, *, secure: bool) -> str:
    parts = [f"{COOKIE}={value}", "Path=/", f"Max-Age={seconds}", "HttpOnly", "SameSite=Strict"]
    return "; ".join([*parts, "Secure"] if secure else parts)
