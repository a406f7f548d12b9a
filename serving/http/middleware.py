"""Middleware stack of both servers, outermost first: security headers, tracing, request guard, API key."""

from __future__ import annotations

from collections.abc import Callable

from starlette.applications import Starlette

from shrag.serving.http.access import Access, KeyNeeded
from shrag.serving.http.rate_limit import FailedKeys
from shrag.serving.http.request_guard import Guard, SafeHeaders
from shrag.serving.http.tracing import Tracing
from shrag.serving.page.sign_in import SignIn


def add_layers(
    app: Starlette, access: Access, finished: Callable[[str, str, int, float], None], *, people: bool = True
) -> None:
    """Put them before the routes of ``app``; ``finished`` is told of each request, see :class:`Tracing`.

    Where a key is needed and ``people`` come, they are asked for it by a form.
    """
    if access.key is not None:
        sessions, failed = access.sessions, FailedKeys()
        sign_in = SignIn(access.key, sessions, failed) if people else None
        if sign_in is not None:
            sign_in.add_routes(app)
        form = sign_in.form if sign_in is not None else None
        app.add_middleware(KeyNeeded, key=access.key, sessions=sessions, failed=failed, form=form)
    app.add_middleware(Guard, hosts=access.hosts)
    app.add_middleware(Tracing, finished=finished)
    app.add_middleware(SafeHeaders)  # added last, it stands outermost
