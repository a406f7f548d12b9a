"""HTML routes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated

from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse

from shrag.serving.api.service import Service
from shrag.serving.concurrency import CancellationToken
from shrag.serving.engine import Engine
from shrag.serving.errors import ClientLeft, DocumentMissing
from shrag.serving.http.sessions import COOKIE
from shrag.serving.http.sse import EventStream, stream_events
from shrag.serving.http.tracing import log_failure
from shrag.serving.page.citation_export import REFERENCE_FILES, ReferenceFormat, write_references
from shrag.serving.page.record import render_record, render_text
from shrag.serving.page.rendering import render_page, render_problem
from shrag.serving.page.request import Asked, read_asked
from shrag.serving.page.stream import page_events
from shrag.serving.request import parse_request
from shrag.serving.runtime.admission import AdmissionQueue

PAGE_HEADERS = {"Vary": "Accept-Language", "Cache-Control": "no-store"}


def asked_by(request: Request) -> Asked:
    """Return what the page is asked for, in the language that the address or the browser wants."""
    asked = read_asked(request.query_params, request.headers.get("accept-language", ""))
    return replace(asked, signed_in=COOKIE in request.cookies)


async def answer_page(
    service: Service,
    queue: AdmissionQueue,
    request: Request,
    asked: Asked,
    page: Callable[[Engine], str],
    cancel: Callable[[], None] = lambda: None,
) -> HTMLResponse:
    """Return what ``page`` makes in its turn in ``queue``; whatever it raises is a page too, for whoever still reads.

    ``cancel`` is as of :meth:`~shrag.serving.runtime.admission.AdmissionQueue.run`.
    """

    def work() -> str:
        with service.index.use() as engine:
            return page(engine)

    try:
        return HTMLResponse(await service.run(queue, work, request.is_disconnected, cancel), headers=PAGE_HEADERS)
    except ClientLeft:
        raise
    except Exception as error:
        with service.index.use() as engine:
            status, html, headers = render_problem(engine, asked, error)
        if status == HTTPStatus.INTERNAL_SERVER_ERROR:
            log_failure()
        return HTMLResponse(html, status, headers={**headers, **PAGE_HEADERS})


MOST_REFERENCES = 50
"""Records one address can ask the references of."""


def add_page_routes(app: FastAPI, service: Service) -> None:
    """Add the page's routes."""

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    async def page(request: Request) -> HTMLResponse:
        asked = asked_by(request)
        # The empty page asks no model: it does not wait behind those that do.
        queue = service.searches if asked.question is None else service.asks
        cancellation = CancellationToken()
        return await answer_page(
            service,
            queue,
            request,
            asked,
            lambda engine: render_page(engine, asked, cancellation),
            cancellation.cancel,
        )

    @app.get("/stream", include_in_schema=False)
    async def stream(request: Request) -> Response:
        asked = asked_by(request)
        deadline = service.deadline(request.is_disconnected)
        parsed = parse_request(asked.question or "", answered=True, k=asked.k, strategy=asked.strategy)
        feed = await service.page_events(
            parsed, lambda run, engine: page_events(run, engine, asked, parsed.question), deadline
        )
        return EventStream(stream_events(feed.events(deadline.without_disconnect())), feed.leave)

    @app.get("/references", include_in_schema=False)
    async def references(
        request: Request,
        docid: Annotated[list[str], Query(min_length=1, max_length=MOST_REFERENCES)],
        form: ReferenceFormat = "bibtex",
    ) -> Response:

        def work() -> str:
            with service.index.use() as engine:
                return _references(engine, docid, form)

        text = await service.run(service.searches, work, request.is_disconnected)
        file = REFERENCE_FILES[form]
        headers = {"Content-Disposition": f'attachment; filename="{file.name}"', "Cache-Control": "no-store"}
        # The files are UTF-8, which neither media type has a default for.
        return Response(text, media_type=f"{file.media_type}; charset=utf-8", headers=headers)


def _references(engine: Engine, docids: list[str], form: ReferenceFormat) -> str:
    records = []
    for docid in dict.fromkeys(docids):
        record = engine.document(docid)
        if record is None:
            raise HTTPException(404, f"Index {engine.name} has no document {docid!r}.")
        records.append(record)
    return write_references(records, form)


DocId = Annotated[str, Query(min_length=1, max_length=512)]


def add_record_routes(app: FastAPI, service: Service) -> None:
    """Add the routes of a record's page."""

    @app.get("/record", response_class=HTMLResponse, include_in_schema=False)
    async def record(request: Request, docid: DocId, part: Annotated[int, Query(ge=1)] = 1) -> HTMLResponse:
        asked = asked_by(request)
        return await answer_page(
            service, service.searches, request, asked, lambda engine: render_record(engine, asked, docid, part)
        )

    @app.get("/record/text", response_class=HTMLResponse, include_in_schema=False)
    async def record_text(request: Request, docid: DocId) -> HTMLResponse:
        asked = asked_by(request)

        def work() -> str:
            with service.index.use() as engine:
                return render_text(engine, asked, docid)

        try:
            html = await service.run(service.searches, work, request.is_disconnected)
        except DocumentMissing as error:
            raise HTTPException(404, str(error)) from None
        return HTMLResponse(html, headers=PAGE_HEADERS)
