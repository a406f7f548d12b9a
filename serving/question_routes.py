"""``/v1/search`` and ``/v1/ask``: a question in, records or a cited answer out."""

from __future__ import annotations

from typing import Annotated, Any, get_args

from fastapi import FastAPI, Query, Request, Response

from shrag.serving.engine import DEFAULT_K, DEFAULT_STRATEGY, LARGEST_K
from shrag.serving.event_stream import EventStream, stream_events
from shrag.serving.events import Event, KeywordOrder
from shrag.serving.plain_route import PlainRoute, read_ask, read_search
from shrag.serving.route_problems import problems, stream_of
from shrag.serving.service import Service
from shrag.serving.trace_id import trace_id
from shrag.serving.wire import AskRequest, AskResponse, Begun, QuestionRequest, SearchResponse

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
        patience = service.patience(request.is_disconnected)
        answering = await service.events(body, patience)
        begun = Begun(service.index.name, answering.generation, body.strategy, answering.cached, trace_id())
        # The response itself sees the client leave; asking twice would take the one message that says so.
        events = answering.feed(patience.of_stream(), service.saw)
        return EventStream(stream_events(events, begun), answering.leave)


def plain_question_routes(service: Service) -> tuple[PlainRoute[Any], ...]:
    """Return those of the routes that are served before the others, as they serve the usual requests."""
    return PlainRoute("/v1/search", read_search, service.search), PlainRoute("/v1/ask", read_ask, service.ask)


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")
