"""``/v1/documents`` and ``/v1/indexes``: what there is to cite."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import FastAPI, Query, Request, Response

from shrag.corpora.records import Record
from shrag.serving.errors import DocumentMissing
from shrag.serving.route_problems import problems
from shrag.serving.service import Service
from shrag.serving.wire import IndexList


def add_document_routes(app: FastAPI, service: Service) -> None:
    """Add the routes that show records and indexes."""

    @app.get("/v1/documents", response_model=Record, responses=problems(404, 422, 429, 503), tags=["documents"])
    async def document(docid: Annotated[str, Query(min_length=1, max_length=512)], request: Request) -> Response:
        """Return one record. The identifier is a parameter because it may hold ``#``, ``/`` and ``;``."""

        def fetch() -> Record:
            with service.index.use() as engine:
                record = engine.document(docid)
            if record is None:
                raise DocumentMissing(f"Index {service.index.name} has no document {docid!r}.")
            return record

        record = await service.run(service.searches, fetch, request.is_disconnected)
        return Response(msgspec.json.encode(record), media_type="application/json")

    @app.get("/v1/indexes", response_model=IndexList, responses=problems(), tags=["documents"])
    async def indexes() -> Response:
        """Return the indexes that are served."""
        return Response(msgspec.json.encode(IndexList((service.index_entry(),))), media_type="application/json")
