"""The addresses of a record's page and of its text, which the list of records unfolds."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, HTTPException, Query, Request
from fastapi.responses import HTMLResponse

from shrag.serving.errors import DocumentMissing
from shrag.serving.page_answer import PAGE_HEADERS, answer_page, asked_by
from shrag.serving.record_page import render_record, render_text
from shrag.serving.service import Service

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
