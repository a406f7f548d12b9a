"""Ask a server with a real vLLM behind it, where there is no network, until the model is asked.

    python -m tests.vllm.far_side FOLDER TRACE STRACE...

``FOLDER`` has the ``shrag.toml`` that starts vLLM, and the data folder.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.air_gap.far_side import ask, served
from tests.air_gap.loopback import raise_loopback

_PATIENCE = 300.0
_QUESTION = "How much does milk yield fall in dairy cows under heat stress?"


def main(folder: Path, trace: Path, strace: Sequence[str]) -> None:
    """Start both, ask until the model writes what is asked of it, stop them, and print the model's name."""
    raise_loopback()
    program = [str(Path(sys.executable).with_name("shrag-serve")), "demo", "--port", "0"]
    started, model = time.monotonic(), ""
    with served([*strace, "--output", str(trace), *program], folder) as address:
        while not model and time.monotonic() - started < _PATIENCE:
            calls = ask(address, "demo", f"{_QUESTION} ({time.monotonic()})")["search"]["model_calls"]
            model = calls[0]["model"] if calls else ""
            time.sleep(1)
    print(model)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
