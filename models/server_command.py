"""How vLLM is started: its arguments, and an environment in which it looks for nothing outside."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from shrag.models.errors import EngineMissing, WeightsMissing
from shrag.models.llm_settings import LlmSettings
from shrag.models.vllm_start import OFFLINE, SHORT_JSON

_ALONE = {
    "VLLM_DO_NOT_TRACK": "1",
    # Its kernels are compiled on first use and may be fetched for that.
    "VLLM_USE_FLASHINFER_SAMPLER": "0",
}
# What this process's Python was told, and keys for other services: another Python is to be started.
_NOT_PASSED_ON = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__", "OPENAI_API_KEY", "HF_TOKEN")


def check_engine(settings: LlmSettings) -> None:
    """Raise :class:`EngineMissing` or :class:`WeightsMissing` where starting cannot work, before it is tried."""
    program = settings.arguments[0]
    if shutil.which(program) is None:
        raise EngineMissing(
            f"{program} is not there or cannot be run: set up vLLM with `make setup-vllm` and give its Python as "
            "[llm] command."
        )
    folder = Path(settings.weights)
    if not (folder / "config.json").is_file():
        raise WeightsMissing(f"{folder} has no config.json: give the folder of a model as [llm] weights.")


def served_name(settings: LlmSettings) -> str:
    """Return the name the model is served under: the one chosen, else its folder's."""
    return settings.model or Path(settings.weights).resolve().name


def server_command(settings: LlmSettings, socket: Path) -> list[str]:
    """Return the whole command. The user's flags stand last, so that they win over ours."""
    return [
        *settings.arguments,
        "--model",
        str(Path(settings.weights).resolve()),
        "--served-model-name",
        served_name(settings),
        "--uds",
        str(socket),
        "--disable-fastapi-docs",
        "--generation-config",
        "vllm",
        "--seed",
        str(settings.seed),
        *SHORT_JSON,
        "--disable-access-log-for-endpoints",
        "/health",
        *settings.extra_flags,
    ]


def server_environment(inherited: Mapping[str, str], cache: Path) -> dict[str, str]:
    """Return the environment: offline, what vLLM compiles kept under ``cache`` unless the user says where."""
    kept = {name: value for name, value in inherited.items() if name not in _NOT_PASSED_ON}
    return {"VLLM_CACHE_ROOT": str(cache), **kept, **OFFLINE, **_ALONE}
