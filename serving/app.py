"""Create and run the HTTP application: routes, middleware, lifespan."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from shrag.models.chat.circuit_breaker import CircuitBreaker
from shrag.serving.api.chat_completions.routes import add_openai_routes
from shrag.serving.api.fast_path import PlainRoutes
from shrag.serving.api.openapi import describe
from shrag.serving.api.routes import add_document_routes, add_health_routes, add_question_routes, plain_question_routes
from shrag.serving.api.service import Service
from shrag.serving.engine import Engine
from shrag.serving.http.access import Access
from shrag.serving.http.middleware import add_layers
from shrag.serving.http.problems import add_problems
from shrag.serving.page.api_docs import add_docs_page
from shrag.serving.page.rendering import PAGE_FOLDER
from shrag.serving.page.routes import add_page_routes, add_record_routes
from shrag.serving.runtime.admission import Limits
from shrag.serving.runtime.leases import EngineSource, FixedEngine

_LOOK_SECONDS = 2.0
"""How often a model that fails is asked whether it is back."""

_SILENT_SECONDS = 30.0
"""How long a model that answered is believed to answer still."""

_TOKEN_SECONDS = 5.0
"""How long one token may take."""


async def watch_model(
    circuit: CircuitBreaker, look: float = _LOOK_SECONDS, silent: float = _SILENT_SECONDS, token: float = _TOKEN_SECONDS
) -> None:
    """Go on looking after the model behind ``circuit`` until cancelled.

    One that dies between two questions is known to be away within ``silent + look + token`` seconds, one that is back
    within ``look + token``.
    """
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="model-watch") as looker:
        loop = asyncio.get_running_loop()
        while True:
            if circuit.state == "open" or circuit.seconds_since_answer >= silent:
                with suppress(Exception):  # whatever happens, it looks again
                    await loop.run_in_executor(looker, circuit.check, token)
            await asyncio.sleep(look)


def create_app(
    index: EngineSource | Engine,
    access: Access | None = None,
    limits: Limits | None = None,
    *,
    log_questions: bool = False,
) -> FastAPI:
    """Return the application over ``index``, for whom ``access`` lets ask. It closes the index when it ends.

    Its :class:`~shrag.serving.api.service.Service` is ``app.state.service``.
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
