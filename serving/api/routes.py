"""Handlers of the /v1 API, of health checks and of metrics."""

from __future__ import annotations

from typing import get_args

from starlette.requests import Request
from starlette.responses import Response

from shrag.corpora.records import Record
from shrag.serving.api.schemas import (
    AskRequest,
    AskResponse,
    DocumentQuery,
    Health,
    IndexHealth,
    IndexList,
    Liveness,
    ModelEndpoint,
    SearchQuery,
    SearchRequest,
    SearchResponse,
    StreamStarted,
)
from shrag.serving.api.service import Service, find_record
from shrag.serving.events import Event
from shrag.serving.http.endpoint import Operation
from shrag.serving.http.logging import request_id
from shrag.serving.http.sse import SSEResponse, stream_events
from shrag.serving.runtime.background import BACKGROUND
from shrag.serving.runtime.leases import EngineSource
from shrag.serving.runtime.metrics import CONTENT_TYPE

# The names of all events, for the OpenAPI description.
_EVENTS = tuple(kind.__dataclass_fields__["event"].default for kind in (StreamStarted, *get_args(Event)))


@Operation(body=SearchRequest, returns=SearchResponse, problems=(404, 409, 413, 415, 422, 503), tag="questions")
async def search(request: Request, body: SearchRequest) -> bytes:
    """Find records for a question."""
    service: Service = request.app.state.service
    return await service.search(body, request)


@Operation(query=SearchQuery, returns=SearchResponse, problems=(404, 409, 413, 415, 422, 503), tag="questions")
async def search_by_query(request: Request, query: SearchQuery) -> bytes:
    """Find records for a question in the query string."""
    service: Service = request.app.state.service
    body = SearchRequest(
        query.q, query.k, query.strategy, query.keyword_order, filter=query, facets=query.facets, index=query.index,
        offset=query.offset,
    )  # fmt: skip
    return await service.search(body, request)


@Operation(
    body=AskRequest,
    returns=AskResponse,
    events=(*_EVENTS, "error"),
    problems=(404, 409, 413, 415, 422, 503),
    tag="questions",
)
async def ask(request: Request, body: AskRequest) -> bytes | SSEResponse:
    """Answer a question from the records found, with citations; with ``stream``, as server-sent events."""
    service: Service = request.app.state.service
    if not body.stream:
        return await service.ask(body, request)
    deadline = service.deadline(request.is_disconnected)
    _, feed = await service.events(body, deadline)
    started = StreamStarted(service.source(body.index).name, feed.generation, body.strategy, feed.cached, request_id())
    # StreamingResponse itself detects that the client has left.
    events = feed.events(deadline.without_disconnect(), service.observe)
    return SSEResponse(stream_events(events, started), feed.leave)


@Operation(query=DocumentQuery, returns=Record, problems=(404, 422, 503), tag="documents")
async def document(request: Request, query: DocumentQuery) -> Record:
    """Return one record. The docid is a query parameter because it may contain ``#``, ``/`` and ``;``."""
    service: Service = request.app.state.service
    return await service.use_engine(lambda engine: find_record(engine, query.docid), request, index=query.index)


@Operation(returns=IndexList, tag="documents")
async def indexes(request: Request) -> IndexList:
    """Return the indexes that are served."""
    service: Service = request.app.state.service
    return IndexList(service.index_entries())


@Operation(returns=Liveness, tag="health")
async def live(_: Request) -> Liveness:
    """Report that the process runs (liveness)."""
    return Liveness()


@Operation(returns=Health, problems=(503,), tag="health")
async def ready(request: Request) -> Health:
    """Report whether questions are answered (readiness), from which index, and by which language model.

    A failing language model does not cause a 503: answers are extractive then.
    """
    service: Service = request.app.state.service
    service.refuse_when_draining()
    circuit = service.circuit
    indexes = tuple(_index_health(source) for source in service.sources)
    if all(each.files == "damaged" for each in indexes):
        with service.source().use() as engine:
            engine.open_index.checksums.raise_if_damaged()
    first = indexes[0]
    name: str | None = None
    if circuit is not None:
        name = circuit.known_name  # a health check must not wait for a request to the endpoint
    elif service.model is not None:
        name = service.model.name
    return Health(
        status="ready",
        index=first.name,
        index_generation=first.generation,
        index_problem=first.problem,
        records=first.records,
        files=first.files,
        generator_status=service.generator_status,
        # JSON is in English, and msgspec encodes no text that can be translated.
        generator_failure=str(circuit.last_failure) if circuit and circuit.state == "open" else "",
        language_model=name,
        background_problem=BACKGROUND.problem,
        indexes=indexes,
        endpoints=tuple(
            ModelEndpoint(each.host, not each.problem, str(each.problem), each.in_flight, each.failures)
            for each in service.endpoints
        ),
    )


def _index_health(source: EngineSource) -> IndexHealth:
    with source.use() as engine:
        manifest, files = engine.manifest, engine.open_index.checksums.state
        problem = source.status.problem
        return IndexHealth(source.name, manifest.generation, problem, manifest.records, files, engine.reranker_problem)


@Operation(tag="health")
async def metrics(request: Request) -> Response:
    """Return the server's metrics in Prometheus' text format."""
    return Response(request.app.state.service.scrape(), media_type=CONTENT_TYPE)
