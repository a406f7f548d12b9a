"""The HTTP application of the JSON API and the web page: its routes, its middleware and its lifespan."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from shrag.models.chat.circuit_breaker import CircuitBreaker
from shrag.serving.api import routes as api
from shrag.serving.api.chat_completions import routes as openai
from shrag.serving.api.embeddings import embeddings
from shrag.serving.api.openapi import openapi
from shrag.serving.api.service import Service
from shrag.serving.engine import Engine
from shrag.serving.http.access import Access, middleware_stack
from shrag.serving.page import routes as page
from shrag.serving.page.api_docs import docs
from shrag.serving.page.documentation import Documentation, documentation
from shrag.serving.page.rendering import PAGE_FOLDER
from shrag.serving.page.sign_in import SignIn
from shrag.serving.runtime.admission import ServerLimits
from shrag.serving.runtime.background import BACKGROUND
from shrag.serving.runtime.leases import EngineSource, FixedEngine

_CHECK_SECONDS = 2.0
"""Seconds between two checks of a failing model."""

_TRUST_SECONDS = 30.0
"""Seconds after a model's last answer during which it is not checked."""

_TOKEN_SECONDS = 5.0
"""Seconds that a checked model may take for one token."""


async def watch_model(
    circuit: CircuitBreaker, check: float = _CHECK_SECONDS, trust: float = _TRUST_SECONDS, token: float = _TOKEN_SECONDS
) -> None:
    """Check the model behind ``circuit`` again and again until cancelled.

    A model that begins to fail between two questions is noticed within ``trust + check + token`` seconds. A model that
    works again is noticed within ``check + token`` seconds.
    """
    checker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="model-watch")
    loop = asyncio.get_running_loop()
    try:
        while True:
            if circuit.state == "open" or circuit.seconds_since_answer >= trust:
                with BACKGROUND.watch("model check"):  # an unexpected error must not end the checks
                    await loop.run_in_executor(checker, circuit.check, token)
            await asyncio.sleep(check)
    finally:
        checker.shutdown(wait=False)  # a check of a model that hangs takes seconds, and the server is to stop


ROUTES: tuple[BaseRoute, ...] = (
    Route("/v1/ask", api.ask, methods=["POST"]),
    Route("/v1/search", api.search, methods=["POST"]),
    Route("/v1/search", api.search_by_query, methods=["GET"]),
    Route("/v1/documents", api.document, methods=["GET"]),
    Route("/v1/indexes", api.indexes, methods=["GET"]),
    Route("/v1/chat/completions", openai.chat, methods=["POST"]),
    Route("/v1/embeddings", embeddings, methods=["POST"]),
    Route("/v1/models", openai.models, methods=["GET"]),
    Route("/v1/models/{model:path}", openai.model, methods=["GET"]),
    Route("/", page.page, methods=["GET"]),
    Route("/stream", page.stream, methods=["GET"]),
    Route("/record", page.record, methods=["GET"]),
    Route("/record/text", page.record_text, methods=["GET"]),
    Route("/references", page.references, methods=["GET"]),
    Mount("/static", StaticFiles(directory=PAGE_FOLDER / "static")),
    Route("/health", api.ready, methods=["GET"]),
    Route("/health/ready", api.ready, methods=["GET"]),
    Route("/health/live", api.live, methods=["GET"]),
    Route("/metrics", api.metrics, methods=["GET"]),
    Route("/openapi.json", openapi, methods=["GET"]),
    Route("/docs", documentation, methods=["GET"]),
    Route("/docs/api", docs, methods=["GET"]),
    Mount("/docs", Documentation()),
)
"""All routes but those for signing in, which exist only if the server has a key."""


def create_app(
    index: EngineSource | Engine | Sequence[EngineSource],
    access: Access | None = None,
    limits: ServerLimits | None = None,
    *,
    log_questions: bool = False,
) -> Starlette:
    """Return the application over one index or several, which it closes when it ends.

    Args:
        index: The engine, its source, or the sources of several indexes. The first is the default index.
        access: Who may send requests; by default only this machine, without a key.
        limits: How many requests run and wait at once.
        log_questions: Whether the log contains the text of questions.

    Returns:
        The application; ``app.state.service`` is its :class:`~shrag.serving.api.service.Service`.
    """
    source = FixedEngine(index) if isinstance(index, Engine) else index
    sources = [source] if isinstance(source, EngineSource) else source
    service = Service(sources, limits or ServerLimits(), log_questions=log_questions)
    access = access or Access()
    sign_in = SignIn(access) if access.key is not None else None

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        circuit = service.circuit
        # A pool of endpoints checks them itself.
        watching = asyncio.create_task(watch_model(circuit)) if isinstance(circuit, CircuitBreaker) else None
        yield
        if watching is not None:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
        await service.close()

    app = Starlette(
        routes=[*ROUTES, *(sign_in.routes() if sign_in is not None else ())],
        middleware=middleware_stack(access, service.metrics.request, sign_in.form if sign_in is not None else None),
        exception_handlers={HTTPException: page.error_response},
        lifespan=lifespan,
    )
    app.state.service = service
    return app
