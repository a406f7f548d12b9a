"""Signed session cookies of browsers that signed in with the API key."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable

from starlette.requests import cookie_parser

COOKIE = "shrag_session"
SECONDS = 12 * 3600
"""How long a session lasts."""


class Sessions:
    """Makes and verifies cookies, which are signed with ``secret``; by default it is random.

    ``clock`` returns the seconds since 1970.
    """

    def __init__(self, clock: Callable[[], float] = time.time, secret: bytes = b"") -> None:
        self._clock = clock
        self._secret = secret or secrets.token_bytes(32)

    def begin(self, *, secure: bool) -> str:
        """Return a new cookie as the value of ``Set-Cookie``. Browsers send a ``secure`` one only over TLS."""
        expires = str(int(self._clock()) + SECONDS)
        payload = f"{expires}.{secrets.token_hex(16)}"
        return _cookie(f"{payload}.{self._sign(payload)}", SECONDS, secure=secure)

    def is_valid(self, header: str) -> bool:
        """Return whether the ``Cookie`` header has a cookie that is valid and has not expired."""
        payload, _, signature = cookie_parser(header).get(COOKIE, "").rpartition(".")
        if not hmac.compare_digest(signature.encode("utf-8", "replace"), self._sign(payload).encode()):
            return False
        return self._clock() < int(payload.partition(".")[0])

    def _sign(self, payload: str) -> str:
        return hmac.new(self._secret, payload.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def end_session() -> str:
    """Return the value of ``Set-Cookie`` that deletes the cookie."""
    return _cookie("", 0, secure=False)


def _cookie(value: str, seconds: int, *, secure: bool) -> str:
    parts = [f"{COOKIE}={value}", "Path=/", f"Max-Age={seconds}", "HttpOnly", "SameSite=Strict"]
    return "; ".join([*parts, "Secure"] if secure else parts)
