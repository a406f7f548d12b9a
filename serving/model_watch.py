"""Looking after the language model: asking it for a token now and then, so that what is said of it is true."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from shrag.models.circuit import CircuitModel

_LOOK_SECONDS = 2.0
"""How often a model that fails is asked whether it is back."""

_SILENT_SECONDS = 30.0
"""How long a model that answered is believed to answer still."""

_TOKEN_SECONDS = 5.0
"""How long one token may take."""


async def watch_model(
    circuit: CircuitModel, look: float = _LOOK_SECONDS, silent: float = _SILENT_SECONDS, token: float = _TOKEN_SECONDS
) -> None:
    """Go on looking after the model behind ``circuit`` until cancelled.

    One that dies between two questions is known to be away within ``silent + look + token`` seconds, one that is back
    within ``look + token``.
    """
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="model-watch") as looker:
        loop = asyncio.get_running_loop()
        while True:
            if circuit.state == "open" or circuit.silent_seconds >= silent:
                with suppress(Exception):  # whatever happens, it looks again
                    await loop.run_in_executor(looker, circuit.check, token)
            await asyncio.sleep(look)
