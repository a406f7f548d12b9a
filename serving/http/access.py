"""API-key middleware and the middleware stack."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from shrag.serving.errors import ServingError
from shrag.serving.http.api_key import ApiKey
from shrag.serving.http.problems import Refusal, refusal
from shrag.serving.http.rate_limit import FailedKeys
from shrag.serving.http.request_guard import LOOPBACK
from shrag.serving.http.sessions import Sessions
from shrag.serving.http.tracing import note

PUBLIC = frozenset({"/health/live", "/sign-in", "/static/palette.css", "/static/page.css", "/static/icon.svg"})
"""The only paths that are served without a key: whether the process turns, the form that takes one, and its looks."""

CHALLENGE = 'Bearer realm="shrag"'
"""What a 401 says a client is to send, in ``WWW-Authenticate``."""

_NAME = re.compile(r"[a-z0-9]([a-z0-9._-]{0,251}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Access:
    """The names of ``hosts`` under which requests are answered, and the ``key`` they need; None is none.

    ``sessions`` are those of browsers that signed in with it.
    """

    hosts: tuple[str, ...] = LOOPBACK
    key: ApiKey | None = None
    sessions: Sessions = field(default_factory=Sessions, compare=False)


def access_at(host: str, key: ApiKey | None = None, names: Iterable[str] = ()) -> Access:
    """Return who may ask a server that listens on ``host``: this machine's own names, that address, and ``names``.

    Raises :class:`ServingError` for an address that other machines can reach where there is no key, for one that goes
    by no name, and for what is no name.
    """
    hosts = dict.fromkeys((*LOOPBACK, *(_host_name(name) for name in names)))
    if is_loopback(host):
        return Access(tuple(hosts), key)
    if key is None:
        raise ServingError(
            f"{host} can be reached from other machines, and there is no API key: serve on 127.0.0.1, or make a key "
            "with `shrag key` and give it by SHRAG_API_KEY or --api-key-file."
        )
    if not _is_every_address(host):
        hosts[_host_name(host)] = None
    elif len(hosts) == len(LOOPBACK):
        raise ServingError(
            f"{host} is every address and goes by no name: say with --allow-host under which name or address clients "
            "reach this server."
        )
    return Access(tuple(hosts), key)


def is_loopback(host: str) -> bool:
    """Say whether only this machine can reach ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class KeyNeeded:
    """ASGI middleware. What is not :data:`PUBLIC` needs the key, by ``Authorization: Bearer`` or a signed-in cookie.

    ``form`` makes the response for a person who opened a page without either.
    """

    def __init__(
        self,
        app: ASGIApp,
        key: ApiKey,
        sessions: Sessions,
        failed: FailedKeys,
        form: Callable[[Scope], Response] | None = None,
    ) -> None:
        self._app = app
        self._key = key
        self._sessions = sessions
        self._failed = failed
        self._form = form

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on where it may be."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["path"] in PUBLIC:
            await self._app(scope, receive, send)
        else:
            refused = self._refuse(scope)
            await (self._app if refused is None else refused)(scope, receive, send)

    def _refuse(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        given = headers.getlist("authorization")
        if not given:
            if self._sessions.holds("; ".join(headers.getlist("cookie"))):
                return None
            if self._form is not None and _is_page_visit(scope, headers):
                return self._form(scope)
            return refusal(scope["path"], _unauthorized("This server needs an API key: send it as a Bearer token."))
        told = check_key(_token(given), self._key, self._failed, client_address(scope))
        return None if told is None else refusal(scope["path"], told)


def check_key(given: str, key: ApiKey, failed: FailedKeys, address: str) -> Refusal | None:
    """Return None where ``given`` is the key, else what whoever sent it from ``address`` is told."""
    wait = failed.wait(address)
    if wait:
        note(refused="too many keys", client=address)
        says = "This address has sent many wrong keys, so no key from it is looked at now: wait and send the right one."
        return Refusal(429, "too_many_keys", says, {"Retry-After": str(wait)})
    if key.matches(given):
        return None
    failed.failed(address)
    note(refused="wrong key", client=address)
    return _unauthorized("The API key is not this server's.", ', error="invalid_token"')


def client_address(scope: Scope) -> str:
    """Return the address of the connection's other end, empty where it has none."""
    return str(scope["client"][0]) if scope.get("client") else ""


def _token(given: list[str]) -> str:
    """Return the one Bearer token; two headers, or another scheme, give what is no key."""
    if len(given) != 1:
        return ""
    scheme, _, token = given[0].partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _unauthorized(says: str, more: str = "") -> Refusal:
    return Refusal(401, "key_needed", says, {"WWW-Authenticate": CHALLENGE + more})


def _is_page_visit(scope: Scope, headers: Headers) -> bool:
    """Say whether a person opened an address: browsers ask for HTML by name, programs for anything."""
    return scope["method"] == "GET" and "text/html" in headers.get("accept", "").lower()


def _is_every_address(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _host_name(name: str) -> str:
    """Return ``name`` as it stands in a Host header, without a port."""
    lowered = name.lower()
    in_brackets = lowered.startswith("[") and lowered.endswith("]")
    try:
        parsed = ipaddress.ip_address(lowered[1:-1] if in_brackets else lowered)
    except ValueError:
        if _NAME.fullmatch(lowered):
            return lowered
        raise ServingError(
            f"--allow-host {name!r} is no host name: write a name or an address alone, without scheme and port."
        ) from None
    return f"[{parsed}]" if parsed.version == 6 else str(parsed)
