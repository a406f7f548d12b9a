"""Endpoints of the web page: the page, its live updates, records, and citation files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from shrag.serving.api.schemas import DocumentQuery
from shrag.serving.api.service import Service
from shrag.serving.concurrency import CancellationToken
from shrag.serving.engine import Engine
from shrag.serving.errors import ClientDisconnected, DocumentMissing
from shrag.serving.http.endpoint import Operation
from shrag.serving.http.logging import log_failure
from shrag.serving.http.sessions import COOKIE
from shrag.serving.http.sse import SSEResponse, stream_events
from shrag.serving.page.citation_export import REFERENCE_FILES, ReferenceFormat, write_references
from shrag.serving.page.record import render_record, render_text
from shrag.serving.page.rendering import render_page, render_problem
from shrag.serving.page.request import PageRequest, parse_page_request
from shrag.serving.page.stream import page_events
from shrag.serving.request import parse_request
from shrag.serving.runtime.admission import AdmissionQueue

MOST_REFERENCES = 50
"""Records whose references one request can ask for."""

_HEADERS = {"Vary": "Accept-Language", "Cache-Control": "no-store"}


class RecordQuery(DocumentQuery, frozen=True):
    """The query string of a record's page."""

    part: Annotated[int, Meta(ge=1)] = 1


class ReferencesQuery(Struct, frozen=True):
    """The query string of a file of references."""

    docid: Annotated[list[str], Meta(min_length=1, max_length=MOST_REFERENCES)]
    format: ReferenceFormat = "bibtex"


@Operation()
async def page(request: Request) -> HTMLResponse:
    """Return the page, with the answer where there is a question."""
    service: Service = request.app.state.service
    asked = _page_request(request)
    # The page without a question asks no model: it does not wait behind those that do.
    queue = service.searches if asked.question is None else service.asks
    cancellation = CancellationToken()
    return await _html_response(
        service,
        queue,
        request,
        asked,
        lambda engine: render_page(engine, asked, cancellation),
        cancellation.cancel,
    )


@Operation()
async def stream(request: Request) -> SSEResponse:
    """Return the fragments of the page as the question is answered."""
    service: Service = request.app.state.service
    asked = _page_request(request)
    deadline = service.deadline(request.is_disconnected)
    parsed = parse_request(asked.question or "", answered=True, k=asked.k, strategy=asked.strategy)
    feed = await service.page_events(
        parsed, lambda run, engine: page_events(run, engine, asked, parsed.question), deadline
    )
    return SSEResponse(stream_events(feed.events(deadline.without_disconnect())), feed.leave)


@Operation(query=ReferencesQuery)
async def references(request: Request, query: ReferencesQuery) -> Response:
    """Return the references of the records named, as a file."""
    service: Service = request.app.state.service

    def work() -> str:
        with service.index.use() as engine:
            return _references(engine, query)

    text = await service.run(service.searches, work, request.is_disconnected)
    file = REFERENCE_FILES[query.format]
    headers = {"Content-Disposition": f'attachment; filename="{file.name}"', "Cache-Control": "no-store"}
    # The files are UTF-8, which neither media type has as its default.
    return Response(text, media_type=f"{file.media_type}; charset=utf-8", headers=headers)


@Operation(query=RecordQuery)
async def record(request: Request, query: RecordQuery) -> HTMLResponse:
    """Return the page of a record."""
    service: Service = request.app.state.service
    asked = _page_request(request)
    return await _html_response(
        service,
        service.searches,
        request,
        asked,
        lambda engine: render_record(engine, asked, query.docid, query.part),
    )


@Operation(query=DocumentQuery)
async def record_text(request: Request, query: DocumentQuery) -> HTMLResponse:
    """Return the text of a record, which the list of records unfolds."""
    service: Service = request.app.state.service
    asked = _page_request(request)

    def work() -> str:
        with service.index.use() as engine:
            return render_text(engine, asked, query.docid)

    return HTMLResponse(await service.run(service.searches, work, request.is_disconnected), headers=_HEADERS)


def _page_request(request: Request) -> PageRequest:
    """Return what the page is asked for, in the language that the address or the browser wants."""
    asked = parse_page_request(request.query_params, request.headers.get("accept-language", ""))
    return replace(asked, signed_in=COOKIE in request.cookies)


async def _html_response(
    service: Service,
    queue: AdmissionQueue,
    request: Request,
    asked: PageRequest,
    render: Callable[[Engine], str],
    cancel: Callable[[], None] = lambda: None,
) -> HTMLResponse:
    """Return the page that ``render`` makes once it is its turn in ``queue``, or one that shows what it raised.

    ``cancel`` is called where nobody waits for the page any more.
    """

    def work() -> str:
        with service.index.use() as engine:
            return render(engine)

    try:
        return HTMLResponse(await service.run(queue, work, request.is_disconnected, cancel), headers=_HEADERS)
    except ClientDisconnected:
        raise
    except Exception as error:
        with service.index.use() as engine:
            status, html, headers = render_problem(engine, asked, error)
        if status == HTTPStatus.INTERNAL_SERVER_ERROR:
            log_failure()
        return HTMLResponse(html, status, headers={**headers, **_HEADERS})


def _references(engine: Engine, query: ReferencesQuery) -> str:
    records = []
    for docid in dict.fromkeys(query.docid):
        found = engine.document(docid)
        if found is None:
            raise DocumentMissing(f"Index {engine.name} has no document {docid!r}.")
        records.append(found)
    return write_references(records, query.format)
