"""A real vLLM over a random tiny Qwen3, started once by our own supervisor."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from shrag.models.chat.settings import LlmSettings
from shrag.models.model_server.served_model import ServedModel
from shrag.models.model_server.server import ModelServer, SupervisionPolicy

ROOT = Path(__file__).resolve().parents[2]
PYTHON = Path(os.environ.get("SHRAG_VLLM_PYTHON", ROOT / ".venv-vllm" / "bin" / "python"))
START_SECONDS = 300
FLAGS = [
    *("--max-model-len", "8192", "--max-num-seqs", "16", "--kv-cache-memory-bytes", "64M"),
    "--enforce-eager",
    "--no-enable-prefix-caching",
]


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tiny model made now."""
    if not PYTHON.exists():
        pytest.fail(f"{PYTHON} is not there: `make test-vllm` sets it up")
    folder = tmp_path_factory.mktemp("weights") / "tiny-qwen3"
    script = Path(__file__).with_name("tiny_qwen3.py")
    subprocess.run([PYTHON, script, folder], check=True, capture_output=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    return folder


@pytest.fixture(scope="session")
def settings(weights: Path) -> LlmSettings:
    """Return settings that start it."""
    command = [str(PYTHON), "-m", "vllm.entrypoints.openai.api_server"]
    return LlmSettings(
        command=command, weights=str(weights), flags=FLAGS, timeout=60.0, read_timeout=30.0, max_tokens=7_500
    )


@pytest.fixture(scope="session")
def server(settings: LlmSettings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    """Return the running server."""
    folder = tmp_path_factory.mktemp("llm")
    with ModelServer(settings, folder, policy=SupervisionPolicy(poll=0.2, watch=0.2, first_pause=0.2)) as server:
        state = server.wait_for("ready", START_SECONDS)
        assert state.phase == "ready", f"{state}\n{server.log.read_text()[-4000:]}"
        yield server


@pytest.fixture
def model(settings: LlmSettings, server: ModelServer) -> Iterator[ServedModel]:
    """Return the model behind it, once it is ready."""
    assert server.wait_for("ready", START_SECONDS).phase == "ready"
    with closing(ServedModel(settings, server)) as model:
        yield model
