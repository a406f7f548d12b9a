"""A page from its request to its response: made in its turn, or the page that says why there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus

from fastapi import Request
from fastapi.responses import HTMLResponse

from shrag.serving.admission import Gate
from shrag.serving.engine import Engine
from shrag.serving.errors import ClientLeft
from shrag.serving.page_problem import render_problem
from shrag.serving.page_request import Asked, read_asked
from shrag.serving.service import Service
from shrag.serving.sessions import COOKIE
from shrag.serving.tracing import log_failure

PAGE_HEADERS = {"Vary": "Accept-Language", "Cache-Control": "no-store"}


def asked_by(request: Request) -> Asked:
    """Return what the page is asked for, in the language that the address or the browser wants."""
    asked = read_asked(request.query_params, request.headers.get("accept-language", ""))
    return replace(asked, signed_in=COOKIE in request.cookies)


async def answer_page(
    service: Service,
    gate: Gate,
    request: Request,
    asked: Asked,
    page: Callable[[Engine], str],
    give_up: Callable[[], None] | None = None,
) -> HTMLResponse:
    """Return what ``page`` makes in its turn at ``gate``; whatever it raises is a page too, for whoever still reads.

    ``give_up`` is as of :meth:`~shrag.serving.places.Places.run`.
    """

    def work() -> str:
        with service.index.use() as engine:
            return page(engine)

    try:
        return HTMLResponse(await service.run(gate, work, request.is_disconnected, give_up), headers=PAGE_HEADERS)
    except ClientLeft:
        raise
    except Exception as error:
        with service.index.use() as engine:
            status, html, headers = render_problem(engine, asked, error)
        if status == HTTPStatus.INTERNAL_SERVER_ERROR:
            log_failure()
        return HTMLResponse(html, status, headers={**headers, **PAGE_HEADERS})
