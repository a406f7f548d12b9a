"""The server with a language model behind a fake endpoint: real sockets at both ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import msgspec

from shrag.models.circuit import CircuitModel
from shrag.models.llm_settings import LlmSettings
from shrag.models.openai_model import OpenAIModel
from shrag.serving.engine import Engine
from shrag.serving.limits import Limits
from tests.models.fake_endpoint import Endpoint, serving
from tests.serving.live import Live, live

QUICK = LlmSettings(model="m", connect_timeout=1, read_timeout=0.7, timeout=60, keyword_timeout=10, retries=0)


@contextmanager
def modelled(
    demo: Engine, endpoint: Endpoint | str, limits: Limits | None = None, **settings: object
) -> Iterator[Live]:
    """Serve the demonstration index, answered by the model at ``endpoint``, which is served too, or at its address."""
    if isinstance(endpoint, Endpoint):
        with serving(endpoint) as address, modelled(demo, address, limits, **settings) as server:
            yield server
        return
    chosen = msgspec.structs.replace(QUICK, url=endpoint, **settings)
    with closing(OpenAIModel(chosen)) as model, live(demo, CircuitModel(model), limits) as server:
        yield server
