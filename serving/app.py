"""The HTTP application: a function of an engine. Routes stand in one place, errors become problems in one place."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from shrag.corpora.records import Record
from shrag.indexing.errors import IndexDamaged
from shrag.serving.asking import Asking
from shrag.serving.engine import AskResult, Engine, SearchResult
from shrag.serving.errors import QuestionError, StrategyUnavailable, UnknownStrategy
from shrag.serving.event_stream import HEADERS, MEDIA_TYPE, stream_events
from shrag.serving.guard import LOOPBACK, Guard
from shrag.serving.page_routes import page_routes
from shrag.serving.rendering import PAGE_FOLDER
from shrag.serving.wire import (
    AskRequest,
    AskResponse,
    Health,
    Problem,
    QuestionRequest,
    SearchResponse,
    ask_response,
    search_response,
)

_Done = TypeVar("_Done")

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    409: {"model": Problem, "description": "The index lacks what the strategy needs."},
    422: {"model": Problem, "description": "The question cannot be read."},
}

_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}, "description": "The answer, or its events."}
}

_TITLES = {
    404: "Not found",
    405: "Method not allowed",
    422: "Question not readable",
    500: "Unexpected error",
    503: "Index damaged",
}


def create_app(engine: Engine, hosts: Iterable[str] = LOOPBACK) -> FastAPI:
    """Return the application over ``engine``, for requests to one of ``hosts``. It closes the engine when it ends."""
    # Threads of our own: Lucene and Kiwi work outside the interpreter's lock, and Java knows each thread that calls it.
    workers = ThreadPoolExecutor(max_workers=max(4, os.cpu_count() or 1), thread_name_prefix="question")

    async def work(function: Callable[[], _Done]) -> _Done:
        return await asyncio.get_running_loop().run_in_executor(workers, function)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        workers.shutdown()
        engine.close()

    app = FastAPI(
        title="SHRAG",
        version=version("shrag"),
        description="Search and cited answers over Korean and English scholarly text.",
        lifespan=lifespan,
        docs_url=None,  # FastAPI's pages load scripts from elsewhere
        redoc_url=None,
    )
    app.add_middleware(Guard, hosts=tuple(hosts))
    app.add_exception_handler(Exception, _unexpected)
    app.add_exception_handler(HTTPException, _http_problem)
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(QuestionError, _question_problem)
    app.add_exception_handler(UnknownStrategy, _question_problem)
    app.add_exception_handler(IndexDamaged, _damaged)
    app.add_exception_handler(StrategyUnavailable, _strategy_problem)
    app.mount("/static", StaticFiles(directory=PAGE_FOLDER / "static"), name="static")

    app.include_router(page_routes(engine, work, workers, lambda error: bytes(_unexpected_problem(error).body)))

    @app.post("/v1/search", response_model=SearchResponse, responses=_PROBLEMS, tags=["questions"])
    async def search(body: QuestionRequest) -> Response:
        """Find records for a question."""
        result = await work(lambda: _search(engine, body))
        return _json(search_response(result))

    @app.post("/v1/ask", response_model=AskResponse, responses=_PROBLEMS | _STREAM, tags=["questions"])
    async def ask(body: AskRequest) -> Response:
        """Answer a question from the records found, with citations; with ``stream``, as it happens."""
        if body.stream:
            asking = await work(lambda: _events(engine, body))
            events = stream_events(asking, workers, lambda error: bytes(_unexpected_problem(error).body))
            return StreamingResponse(events, media_type=MEDIA_TYPE, headers=HEADERS)
        result = await work(lambda: _ask(engine, body))
        return _json(ask_response(result, body.format))

    @app.get("/v1/documents", response_model=Record, responses={404: {"model": Problem}}, tags=["documents"])
    async def document(docid: Annotated[str, Query(min_length=1, max_length=512)]) -> Response:
        """Return one record. The identifier is a parameter because it may hold ``#``, ``/`` and ``;``."""
        return await work(lambda: _document(engine, docid))

    @app.get("/health/live", tags=["health"])
    async def live() -> dict[str, str]:
        """Say that the process turns."""
        return {"status": "live"}

    @app.get("/health", response_model=Health, responses={503: {"model": Problem}}, tags=["health"])
    @app.get("/health/ready", response_model=Health, responses={503: {"model": Problem}}, tags=["health"])
    async def ready() -> Response:
        """Say that questions are answered, and over what."""
        manifest, seals = engine.manifest, engine.open_index.seals
        seals.raise_if_damaged()
        model = engine.model.name if engine.model is not None else None
        health = Health("ready", engine.name, manifest.generation, manifest.records, seals.state, language_model=model)
        return _json(health)

    return app


def _search(engine: Engine, body: QuestionRequest) -> SearchResult:
    return engine.search(body.question, k=body.k, strategy=body.strategy, keyword_order=body.keyword_order)


def _ask(engine: Engine, body: AskRequest) -> AskResult:
    return engine.ask(body.question, k=body.k, strategy=body.strategy, keyword_order=body.keyword_order)


def _events(engine: Engine, body: AskRequest) -> Asking:
    return engine.events(body.question, k=body.k, strategy=body.strategy, keyword_order=body.keyword_order)


def _document(engine: Engine, docid: str) -> Response:
    record = engine.document(docid)
    if record is None:
        return _problem(404, "document_missing", f"Index {engine.name} has no document {docid!r}.")
    return _json(record)


def _json(value: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def _problem(status: int, code: str, detail: str) -> Response:
    problem = Problem("about:blank", _TITLES.get(status, "Request not served"), status, detail, code)
    return Response(msgspec.json.encode(problem), status, media_type="application/problem+json")


async def _question_problem(_: Request, error: Exception) -> Response:
    code = error.code if isinstance(error, QuestionError) else "unknown_strategy"
    return _problem(422, code, str(error))


async def _strategy_problem(_: Request, error: Exception) -> Response:
    return _problem(409, "strategy_unavailable", str(error))


async def _invalid_request(_: Request, error: Exception) -> Response:
    first = error.errors()[0] if isinstance(error, RequestValidationError) else {}
    where = ".".join(str(part) for part in first.get("loc", ()))
    return _problem(422, "invalid_request", f"{where}: {first.get('msg', 'invalid')}.")


async def _http_problem(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = error.headers if isinstance(error, HTTPException) else None
    problem = _problem(status, "not_found" if status == 404 else "http_error", str(getattr(error, "detail", error)))
    problem.headers.update(headers or {})
    return problem


async def _damaged(_: Request, error: Exception) -> Response:
    return _problem(503, "index_damaged", str(error))


async def _unexpected(_: Request, error: Exception) -> Response:
    return _unexpected_problem(error)


def _unexpected_problem(error: Exception) -> Response:
    if isinstance(error, IndexDamaged):
        return _problem(503, "index_damaged", str(error))
    return _problem(500, "unexpected", f"The server failed with {type(error).__name__}; its log says where.")
