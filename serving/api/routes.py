"""/v1/search, /v1/ask, /v1/documents, /v1/indexes, /health, /metrics."""

from __future__ import annotations

from typing import Annotated, Any, get_args

import msgspec
from fastapi import FastAPI, Query, Request, Response

from shrag.corpora.records import Record
from shrag.serving.api.fast_path import PlainRoute, read_ask, read_search
from shrag.serving.api.openapi import problems, stream_of
from shrag.serving.api.schemas import (
    AskRequest,
    AskResponse,
    Begun,
    Health,
    IndexList,
    Live,
    QuestionRequest,
    SearchResponse,
)
from shrag.serving.api.service import Service
from shrag.serving.errors import DocumentMissing
from shrag.serving.events import Event, KeywordOrder
from shrag.serving.http.logging import trace_id
from shrag.serving.http.sse import EventStream, stream_events
from shrag.serving.request import DEFAULT_K, DEFAULT_STRATEGY, LARGEST_K
from shrag.serving.runtime.metrics import CONTENT_TYPE

_PROBLEMS = problems(409, 413, 415, 422, 429, 503)

_STREAM = stream_of(
    "The answer, or its events.",
    "begun",
    *(kind.__dataclass_fields__["event"].default for kind in get_args(Event)),
    "error",
)


def add_question_routes(app: FastAPI, service: Service) -> None:
    """Add the routes that answer questions."""

    @app.get("/v1/search", response_model=SearchResponse, responses=_PROBLEMS, tags=["questions"])
    async def search_by_address(
        request: Request,
        q: Annotated[str, Query(description="The question.")],
        k: Annotated[int, Query(ge=1, le=LARGEST_K, description="Records at most.")] = DEFAULT_K,
        strategy: str = DEFAULT_STRATEGY,
        keyword_order: KeywordOrder = "tfidf",
    ) -> Response:
        """Find records for a question given in the address."""
        body = QuestionRequest(question=q, k=k, strategy=strategy, keyword_order=keyword_order)
        return _json(await service.search(body, request))

    @app.post("/v1/search", response_model=SearchResponse, responses=_PROBLEMS, tags=["questions"])
    async def search(body: QuestionRequest, request: Request) -> Response:
        """Find records for a question."""
        return _json(await service.search(body, request))

    @app.post("/v1/ask", response_model=AskResponse, responses=_PROBLEMS | _STREAM, tags=["questions"])
    async def ask(body: AskRequest, request: Request) -> Response:
        """Answer a question from the records found, with citations; with ``stream``, as it happens."""
        if not body.stream:
            return _json(await service.ask(body, request))
        deadline = service.deadline(request.is_disconnected)
        _, feed = await service.events(body, deadline)
        begun = Begun(service.index.name, feed.generation, body.strategy, feed.cached, trace_id())
        # The response itself sees the client leave; asking twice would take the one message that says so.
        events = feed.events(deadline.without_disconnect(), service.observe)
        return EventStream(stream_events(events, begun), feed.leave)


def plain_question_routes(service: Service) -> tuple[PlainRoute[Any], ...]:
    """Return those of the routes that are served before the others, as they serve the usual requests."""
    return PlainRoute("/v1/search", read_search, service.search), PlainRoute("/v1/ask", read_ask, service.ask)


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")


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


def add_health_routes(app: FastAPI, service: Service) -> None:
    """Add the routes that say how the server is."""

    @app.get("/health/live", response_model=Live, responses=problems(), tags=["health"])
    async def live() -> Response:
        """Say that the process turns."""
        return Response(msgspec.json.encode(Live()), media_type="application/json")

    @app.get("/health", response_model=Health, responses=problems(503), tags=["health"])
    @app.get("/health/ready", response_model=Health, responses=problems(503), tags=["health"])
    async def ready() -> Response:
        """Say that questions are answered, over what, and by whom. A failing language model is no reason for a 503."""
        service.refuse_when_draining()
        circuit = service.circuit
        with service.index.use() as engine:
            engine.open_index.seals.raise_if_damaged()
            manifest, files = engine.manifest, engine.open_index.seals.state
        health = Health(
            status="ready",
            index=service.index.name,
            index_generation=manifest.generation,
            index_problem=service.index.status.problem,
            records=manifest.records,
            files=files,
            generation=service.generation,
            generation_failure=circuit.last_failure if circuit and circuit.state == "open" else "",
            language_model=_model_name(service),
        )
        return Response(msgspec.json.encode(health), media_type="application/json")

    @app.get("/metrics", responses=problems(), tags=["health"], response_class=Response)
    async def metrics() -> Response:
        """Return the server's figures in Prometheus' text format."""
        return Response(service.scrape(), media_type=CONTENT_TYPE)


def _model_name(service: Service) -> str | None:
    """Return the language model's name without asking it: whoever is asked for health does not wait for a model."""
    if service.circuit is not None:
        return service.circuit.known_name
    return service.model.name if service.model is not None else None
