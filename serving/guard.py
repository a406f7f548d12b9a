"""What stands before every route: only hosts this server goes by, and headers that let a page do nothing but show."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

_HEADERS = {
    # Scripts are files of this server and talk to it alone; none stands in the page. HTML is made from text by one
    # policy of theirs only, which takes what this server rendered. Nothing is loaded from anywhere else.
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types shrag"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """ASGI middleware. A page of another site cannot reach a local server under a name of its own (DNS rebinding)."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on where its Host is known."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        if _host(scope) not in self._hosts:
            response = PlainTextResponse("This server does not go by that host name.\n", status_code=400)
            await response(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)


def _host(scope: Scope) -> str:
    """Return the request's host without its port."""
    value = next((value for name, value in scope["headers"] if name == b"host"), b"").decode("latin-1").lower()
    return value.partition("]")[0] + "]" if value.startswith("[") else value.partition(":")[0]
