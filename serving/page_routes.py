"""The page's addresses: the page, the page as it grows, and the records it cites as references."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse

from shrag.serving.asking import Withdrawal
from shrag.serving.engine import Engine
from shrag.serving.event_stream import EventStream, stream_events
from shrag.serving.page_answer import answer_page, asked_by
from shrag.serving.page_stream import PageStream
from shrag.serving.question import read_question
from shrag.serving.references import REFERENCE_FILES, ReferenceFormat, write_references
from shrag.serving.rendering import render_page
from shrag.serving.service import Service

MOST_REFERENCES = 50
"""Records one address can ask the references of."""


def add_page_routes(app: FastAPI, service: Service) -> None:
    """Add the page's routes."""

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    async def page(request: Request) -> HTMLResponse:
        asked = asked_by(request)
        # The empty page asks no model: it does not wait behind those that do.
        gate = service.searches if asked.question is None else service.asks
        withdrawal = Withdrawal()
        return await answer_page(
            service,
            gate,
            request,
            asked,
            lambda engine: render_page(engine, asked, withdrawal.begun),
            withdrawal.withdraw,
        )

    @app.get("/stream", include_in_schema=False)
    async def stream(request: Request) -> Response:
        asked = asked_by(request)
        patience = service.patience(request.is_disconnected)
        read_question(asked.question or "")  # refused before it waits for its turn
        answering = await service.begin(
            lambda engine: engine.events(asked.question or "", k=asked.k),
            lambda asking, engine: PageStream(asking, engine, asked),
            patience,
        )
        return EventStream(stream_events(answering.feed(patience.of_stream())), answering.leave)

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
