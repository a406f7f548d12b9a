"""Access control: trusted host names, ASGI middleware for the API key, and the stack of all middleware."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from shrag.messages.text import Text
from shrag.serving.errors import ServingError
from shrag.serving.http.api_key import ApiKey
from shrag.serving.http.logging import add_log_fields
from shrag.serving.http.middleware import LOOPBACK, RequestGuardMiddleware, RequestLogMiddleware
from shrag.serving.http.problems import HTTPProblem, problem_response
from shrag.serving.http.rate_limit import FailedKeys
from shrag.serving.http.sessions import Sessions

PUBLIC = frozenset({"/health/live", "/sign-in", "/static/palette.css", "/static/page.css", "/static/icon.svg"})
"""The only paths that are served without a key: liveness, the sign-in form and its styles."""

CHALLENGE = 'Bearer realm="shrag"'
"""``WWW-Authenticate`` of a 401."""

_NAME = re.compile(r"[a-z0-9]([a-z0-9._-]{0,251}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Access:
    """The host names that are served, and the key that requests need; None for no key.

    ``sessions`` are the sessions of browsers that signed in with the key. Every server with the same key accepts them.
    ``failed_keys`` limits how fast keys can be guessed.
    """

    hosts: tuple[str, ...] = LOOPBACK
    key: ApiKey | None = None
    sessions: Sessions = field(init=False, compare=False)
    failed_keys: FailedKeys = field(default_factory=FailedKeys, compare=False)

    def __post_init__(self) -> None:
        secret = b"" if self.key is None else self.key.session_secret
        object.__setattr__(self, "sessions", Sessions(secret=secret))


def access_for_host(host: str, key: ApiKey | None = None, names: Iterable[str] = ()) -> Access:
    """Return the access to a server on ``host``, which is served under loopback names, ``host`` and ``names``.

    Raises:
        ServingError: Other machines can reach ``host``, and there is no key. Or ``host`` means every address, and there
            are no ``names``. Or one of ``names`` is not a host name.
    """
    hosts = dict.fromkeys((*LOOPBACK, *(_host_name(name) for name in names)))
    if is_loopback(host):
        hosts[_host_name(host)] = None
        return Access(tuple(hosts), key)
    if key is None:
        raise ServingError(
            Text(
                "{host} can be reached from other machines, and there is no API key: serve on 127.0.0.1, or "
                "make a key with `shrag key` and give it by SHRAG_API_KEY or --api-key-file.",
                host=host,
            )
        )
    if not _is_every_address(host):
        hosts[_host_name(host)] = None
    elif len(hosts) == len(LOOPBACK):
        raise ServingError(
            Text(
                "{host} means every address and has no name: give the name or address by which clients reach this "
                "server with --allow-host.",
                host=host,
            )
        )
    return Access(tuple(hosts), key)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class APIKeyMiddleware:
    """ASGI middleware: all paths but :data:`PUBLIC` need the key as ``Authorization: Bearer``, or a session cookie.

    ``form`` makes the response to a browser that opens a page without either.
    """

    def __init__(self, app: ASGIApp, access: Access, form: Callable[[Scope], Response] | None = None) -> None:
        self._app = app
        self._access = access
        self._form = form

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass an authorized request on; refuse any other."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["path"] in PUBLIC:
            await self._app(scope, receive, send)
        else:
            refusal = self._refuse(scope)
            await (self._app if refusal is None else refusal)(scope, receive, send)

    def _refuse(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        authorization = headers.getlist("authorization")
        if not authorization:
            if self._access.sessions.is_valid("; ".join(headers.getlist("cookie"))):
                return None
            if self._form is not None and _is_page_visit(scope, headers):
                return self._form(scope)
            problem = _unauthorized(Text("This server needs an API key: send it as a Bearer token."))
            return problem_response(scope["path"], problem)
        wrong = check_key(_bearer_token(authorization), self._access, client_address(scope))
        return None if wrong is None else problem_response(scope["path"], wrong)


def middleware_stack(
    access: Access,
    observe: Callable[[str, str, int, float], None],
    form: Callable[[Scope], Response] | None = None,
) -> list[Middleware]:
    """Return the middleware of a server, the outermost first; :class:`APIKeyMiddleware` only if there is a key.

    ``observe`` is for :class:`~shrag.serving.http.middleware.RequestLogMiddleware`, and ``form`` for
    :class:`APIKeyMiddleware`.
    """
    stack = [Middleware(RequestLogMiddleware, observe=observe), Middleware(RequestGuardMiddleware, hosts=access.hosts)]
    if access.key is not None:
        stack.append(Middleware(APIKeyMiddleware, access=access, form=form))
    return stack


def check_key(sent: str, access: Access, address: str) -> HTTPProblem | None:
    """Return None if ``sent`` is the server's key, else the problem for its sender at ``address``."""
    wait = access.failed_keys.wait(address)
    if wait:
        add_log_fields(refused="too many keys", client=address)
        detail = Text(
            "This address has sent many wrong keys, so its keys are not checked now: wait and send the right one."
        )
        return HTTPProblem(429, "too_many_keys", detail, {"Retry-After": str(wait)})
    if access.key is not None and access.key.matches(sent):
        return None
    access.failed_keys.failed(address)
    add_log_fields(refused="wrong key", client=address)
    return _unauthorized(Text("The API key is not this server's."), ', error="invalid_token"')


def client_address(scope: Scope) -> str:
    """Return the address of the client's end of the connection; empty if it has none."""
    return str(scope["client"][0]) if scope.get("client") else ""


def _bearer_token(headers: list[str]) -> str:
    """Return the Bearer token; empty if there are several headers, or another scheme."""
    if len(headers) != 1:
        return ""
    scheme, _, token = headers[0].partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _unauthorized(detail: str, parameters: str = "") -> HTTPProblem:
    return HTTPProblem(401, "key_needed", detail, {"WWW-Authenticate": CHALLENGE + parameters})


def _is_page_visit(scope: Scope, headers: Headers) -> bool:
    """Return whether a browser opened a page: browsers accept HTML by name, while programs accept anything."""
    return scope["method"] in {"GET", "HEAD"} and "text/html" in headers.get("accept", "").lower()


def _is_every_address(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _host_name(name: str) -> str:
    """Return ``name`` as it is written in a Host header, without a port."""
    lowered = name.lower()
    in_brackets = lowered.startswith("[") and lowered.endswith("]")
    try:
        parsed = ipaddress.ip_address(lowered[1:-1] if in_brackets else lowered)
    except ValueError:
        if _NAME.fullmatch(lowered):
            return lowered
        raise ServingError(
            Text(
                "--allow-host {name!r} is not a host name: write a name or an address alone, without scheme and port.",
                name=name,
            )
        ) from None
    return f"[{parsed}]" if parsed.version == 6 else str(parsed)
