"""``/health`` and its kin, and ``/metrics``: what a watcher asks. None waits for a place behind questions."""

from __future__ import annotations

import msgspec
from fastapi import FastAPI, Response

from shrag.serving.metrics import CONTENT_TYPE
from shrag.serving.route_problems import problems
from shrag.serving.service import Service
from shrag.serving.wire import Health, Live


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
            index_problem=service.index.standing.problem,
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
