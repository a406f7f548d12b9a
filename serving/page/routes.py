"""Endpoints of the web page: the page, its live updates, records, and files of references."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated

from msgspec import Meta, Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from shrag.serving.api.schemas import DocumentQuery
from shrag.serving.api.service import Service, find_record
from shrag.serving.concurrency import CancellationToken
from shrag.serving.engine import Engine
from shrag.serving.errors import ClientDisconnected, QuestionError, UnknownIndex
from shrag.serving.http.endpoint import Operation, check_parameters
from shrag.serving.http.logging import log_failure
from shrag.serving.http.problems import HTTPProblem, http_exception_response
from shrag.serving.http.sessions import COOKIE
from shrag.serving.http.sse import SSEResponse, stream_events
from shrag.serving.page.record import render_record, render_text
from shrag.serving.page.rendering import render_page, render_problem
from shrag.serving.page.request import PARAMETERS, PageRequest, parse_page_request
from shrag.serving.page.stream import page_events
from shrag.serving.references.formats import REFERENCE_FILES, ReferenceFormat, write_references
from shrag.serving.request import DEFAULT_STRATEGY
from shrag.serving.runtime.admission import AdmissionQueue

MOST_REFERENCES = 50
"""Maximum number of records in one file of references."""

_HEADERS = {"Vary": "Accept-Language", "Cache-Control": "no-store"}


class RecordQuery(DocumentQuery, frozen=True):
    """The query string of a record's page; ``part`` is the number of a part of a long text, from 1."""

    part: Annotated[int, Meta(ge=1)] = 1


class ReferencesQuery(Struct, frozen=True):
    """The query string of a file of references, which has the bibliography entries of the records ``docid``."""

    docid: Annotated[list[str], Meta(min_length=1, max_length=MOST_REFERENCES)]
    format: ReferenceFormat = "bibtex"
    index: str = ""


@Operation(query_names=None)
async def page(request: Request) -> HTMLResponse:
    """Return the page, with the answer where there is a question."""
    service: Service = request.app.state.service
    try:
        check_parameters(request, PARAMETERS)
        page_request = _page_request(request)
    except (HTTPProblem, QuestionError, UnknownIndex) as error:
        return _problem_response(service, replace(_page_request(request, read=False), index=""), error)
    # The empty page needs no model, so it does not wait in the queue of answers.
    queue = service.searches if page_request.question is None else service.asks
    cancellation = CancellationToken()
    return await _html_response(
        request,
        page_request,
        lambda engine: render_page(engine, page_request, cancellation, service.metrics.observe),
        queue,
        cancellation.cancel,
    )


@Operation(query_names=PARAMETERS)
async def stream(request: Request) -> SSEResponse:
    """Return server-sent events with the fragments of the page, as its question is answered."""
    service: Service = request.app.state.service
    page_request = _page_request(request)
    deadline = service.deadline(request.is_disconnected)
    parsed = page_request.parse()
    feed = await service.page_events(
        parsed,
        lambda run, engine: page_events(run, engine, page_request, parsed.question),
        deadline,
        page_request.index,
    )
    return SSEResponse(stream_events(feed.events(deadline.without_disconnect())), feed.leave)


def _problem_page(request: Request, error: Exception) -> Response | None:
    """Return the page of an error for a browser, or None for any other client."""
    if isinstance(error, ClientDisconnected) or "text/html" not in request.headers.get("accept", ""):
        return None
    page_request = replace(_page_request(request, read=False), question=None, strategy=DEFAULT_STRATEGY)
    return _problem_response(request.app.state.service, page_request, error)


@Operation(query=ReferencesQuery, problem_page=_problem_page)
async def references(request: Request, query: ReferencesQuery) -> Response:
    """Return the bibliography entries of some records as a download, each record once."""

    def write(engine: Engine) -> str:
        return write_references([find_record(engine, docid) for docid in dict.fromkeys(query.docid)], query.format)

    service: Service = request.app.state.service
    text = await service.use_engine(write, request, index=query.index)
    file = REFERENCE_FILES[query.format]
    headers = {"Content-Disposition": f'attachment; filename="{file.name}"', "Cache-Control": "no-store"}
    # The files are UTF-8, which is not the default of these media types.
    return Response(text, media_type=f"{file.media_type}; charset=utf-8", headers=headers)


@Operation(query=RecordQuery, query_names=PARAMETERS, problem_page=_problem_page)
async def record(request: Request, query: RecordQuery) -> HTMLResponse:
    """Return the page of a record."""
    page_request = _page_request(request)
    return await _html_response(
        request, page_request, lambda engine: render_record(engine, page_request, query.docid, query.part)
    )


@Operation(query=DocumentQuery, query_names=PARAMETERS)
async def record_text(request: Request, query: DocumentQuery) -> HTMLResponse:
    """Return the first part of a record's text as a fragment for the list of records."""
    service: Service = request.app.state.service
    page_request = _page_request(request)
    html = await service.use_engine(
        lambda engine: render_text(engine, page_request, query.docid), request, index=query.index
    )
    return HTMLResponse(html, headers=_HEADERS)


async def error_response(request: Request, error: Exception) -> Response:
    """Return the response to Starlette's ``HTTPException``: a browser gets a page for an unknown address."""
    page = None
    if isinstance(error, HTTPException) and error.status_code == HTTPStatus.NOT_FOUND:
        page = _problem_page(request, error)
    return page or await http_exception_response(request, error)


def _page_request(request: Request, *, read: bool = True) -> PageRequest:
    """Parse the request for a page. Without ``read``, its filter and its index are left out, so that nothing is raised.

    Raises:
        QuestionError: The filter is not valid.
        UnknownIndex: There is no such index.
    """
    service: Service = request.app.state.service
    accepted = request.headers.get("accept-language", "")
    parsed = parse_page_request(request.query_params, accepted, filtered=read)
    index = service.source(parsed.index).name if read else ""
    named = index if index != service.names[0] else ""
    return replace(parsed, index=named, indexes=service.names, signed_in=COOKIE in request.cookies)


async def _html_response(
    request: Request,
    page_request: PageRequest,
    render: Callable[[Engine], str],
    queue: AdmissionQueue | None = None,
    cancel: Callable[[], None] = lambda: None,
) -> HTMLResponse:
    """Return the page that ``render`` makes when it is its turn in ``queue``, or the page of its error.

    The default queue is that of searches. ``cancel`` is called if the client leaves.
    """
    service: Service = request.app.state.service
    try:
        html = await service.use_engine(render, request, queue, cancel, page_request.index)
        return HTMLResponse(html, headers=_HEADERS)
    except ClientDisconnected:
        raise
    except Exception as error:
        return _problem_response(service, page_request, error)


def _problem_response(service: Service, page_request: PageRequest, error: Exception) -> HTMLResponse:
    with service.source(page_request.index).use() as engine:
        status, html, headers = render_problem(engine, page_request, error)
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        log_failure()
    return HTMLResponse(html, status, headers={**headers, **_HEADERS})
