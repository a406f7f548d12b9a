"""The HTTP application: a function of an index. What each group of routes does stands in a file of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from shrag.serving.access import Access
from shrag.serving.docs_page import add_docs_page
from shrag.serving.document_routes import add_document_routes
from shrag.serving.engine import Engine
from shrag.serving.engine_source import EngineSource, FixedEngine
from shrag.serving.health_routes import add_health_routes
from shrag.serving.layers import add_layers
from shrag.serving.limits import Limits
from shrag.serving.model_watch import watch_model
from shrag.serving.openai_routes import add_openai_routes
from shrag.serving.openapi_file import describe
from shrag.serving.page_routes import add_page_routes
from shrag.serving.plain_route import PlainRoutes
from shrag.serving.problems import add_problems
from shrag.serving.question_routes import add_question_routes, plain_question_routes
from shrag.serving.record_routes import add_record_routes
from shrag.serving.rendering import PAGE_FOLDER
from shrag.serving.service import Service


def create_app(
    index: EngineSource | Engine,
    access: Access | None = None,
    limits: Limits | None = None,
    *,
    log_questions: bool = False,
) -> FastAPI:
    """Return the application over ``index``, for whom ``access`` lets ask. It closes the index when it ends.

    Its :class:`~shrag.serving.service.Service` is ``app.state.service``.
    """
    source = FixedEngine(index) if isinstance(index, Engine) else index
    service = Service(source, limits or Limits(), log_questions=log_questions)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        circuit = service.circuit
        watching = asyncio.create_task(watch_model(circuit)) if circuit is not None else None
        yield
        if watching is not None:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
        await service.close()

    app = FastAPI(
        title="SHRAG",
        version=version("shrag"),
        description="Search and cited answers over Korean and English scholarly text.",
        lifespan=lifespan,
        docs_url=None,  # FastAPI's pages load scripts from elsewhere
        redoc_url=None,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # an address may have a question in it
    )
    app.state.service = service
    app.add_middleware(PlainRoutes, routes=plain_question_routes(service))  # added first, it stands innermost
    add_layers(app, access or Access(), service.metrics.request)
    add_problems(app)
    app.mount("/static", StaticFiles(directory=PAGE_FOLDER / "static"), name="static")

    add_page_routes(app, service)
    add_record_routes(app, service)
    add_question_routes(app, service)
    add_document_routes(app, service)
    add_openai_routes(app, service)
    add_health_routes(app, service)
    add_docs_page(app)
    describe(app)
    return app
