"""What a watcher asks a server of tools: ``/health/live``, ``/health/ready`` and ``/metrics``."""

from __future__ import annotations

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from shrag.serving.errors import Stopping
from shrag.serving.metrics import CONTENT_TYPE
from shrag.serving.places import Places
from shrag.serving.problems import refusal
from shrag.serving.wire import Live


def add_tool_routes(app: Starlette, places: Places) -> None:
    """Add them to ``app``."""

    async def live(_: Request) -> Response:
        return Response(msgspec.json.encode(Live()), media_type="application/json")

    async def ready(request: Request) -> Response:
        if places.draining:
            return refusal(request.url.path, Stopping())
        return Response(b'{"status":"ready"}', media_type="application/json")

    async def metrics(_: Request) -> Response:
        return Response(places.scrape(), media_type=CONTENT_TYPE)

    app.router.routes += [Route("/health/live", live), Route("/health/ready", ready), Route("/metrics", metrics)]
