"""The page's addresses: the page, the page as it grows, and the records it cites as references."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from typing import Annotated, Protocol, TypeVar

from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse, StreamingResponse

from shrag.serving.engine import Engine
from shrag.serving.event_stream import HEADERS, MEDIA_TYPE, stream_events
from shrag.serving.page_request import read_asked
from shrag.serving.page_stream import PageStream
from shrag.serving.references import REFERENCE_FILES, ReferenceFormat, write_references
from shrag.serving.rendering import render_page

MOST_REFERENCES = 50
"""Records one address can ask the references of."""

_Done = TypeVar("_Done")


class Work(Protocol):
    """Runs a function where it may take its time."""

    def __call__(self, function: Callable[[], _Done], /) -> Awaitable[_Done]: ...  # noqa: D102


def page_routes(engine: Engine, work: Work, workers: Executor, problem: Callable[[Exception], bytes]) -> APIRouter:
    """Return the page's routes over ``engine``; ``problem`` makes the data of an error event."""
    router = APIRouter(include_in_schema=False)

    @router.get("/", response_class=HTMLResponse)
    async def page(request: Request) -> HTMLResponse:
        asked = read_asked(request.query_params, request.headers.get("accept-language", ""))
        status, html = await work(lambda: render_page(engine, asked))
        return HTMLResponse(html, status, headers={"Vary": "Accept-Language", "Cache-Control": "no-store"})

    @router.get("/stream")
    async def stream(request: Request) -> StreamingResponse:
        asked = read_asked(request.query_params, request.headers.get("accept-language", ""))
        pieces = await work(lambda: PageStream(engine.events(asked.question or "", k=asked.k), engine, asked))
        return StreamingResponse(stream_events(pieces, workers, problem), media_type=MEDIA_TYPE, headers=HEADERS)

    @router.get("/references")
    async def references(
        docid: Annotated[list[str], Query(min_length=1, max_length=MOST_REFERENCES)], form: ReferenceFormat = "bibtex"
    ) -> Response:
        text = await work(lambda: _references(engine, docid, form))
        file = REFERENCE_FILES[form]
        headers = {"Content-Disposition": f'attachment; filename="{file.name}"', "Cache-Control": "no-store"}
        # The files are UTF-8, which neither media type has a default for.
        return Response(text, media_type=f"{file.media_type}; charset=utf-8", headers=headers)

    return router


def _references(engine: Engine, docids: list[str], form: ReferenceFormat) -> str:
    records = []
    for docid in dict.fromkeys(docids):
        record = engine.document(docid)
        if record is None:
            raise HTTPException(404, f"Index {engine.name} has no document {docid!r}.")
        records.append(record)
    return write_references(records, form)
