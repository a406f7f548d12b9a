"""Command line and environment that start vLLM offline."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from shrag.models.chat.settings import LlmSettings
from shrag.models.errors import ServerProgramMissing, WeightsMissing
from shrag.models.memory_plan.byte_sizes import MIB
from shrag.models.memory_plan.plan import MemoryPlan

OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_NO_USAGE_STATS": "1",
}
"""Environment in which neither vLLM nor what it stands on opens a connection."""

COMPACT_JSON_FLAGS = ("--structured-outputs-config", '{"backend":"xgrammar","disable_any_whitespace":true}')
"""Without the second key a weak model can write white space until its tokens are used up."""


_VLLM_ENVIRONMENT = {
    "VLLM_DO_NOT_TRACK": "1",
    # Its kernels are compiled on first use and may be fetched for that.
    "VLLM_USE_FLASHINFER_SAMPLER": "0",
}
# What this process's Python was told, and keys for other services: another Python is to be started.
_DROPPED_VARIABLES = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__", "OPENAI_API_KEY", "HF_TOKEN")


def check_server_program(settings: LlmSettings) -> None:
    """Raise :class:`ServerProgramMissing` or :class:`WeightsMissing` where starting cannot work, before it is tried."""
    program = settings.arguments[0]
    if shutil.which(program) is None:
        raise ServerProgramMissing(
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
        *COMPACT_JSON_FLAGS,
        "--disable-access-log-for-endpoints",
        "/health",
        *settings.extra_flags,
    ]


def server_environment(inherited: Mapping[str, str], cache: Path) -> dict[str, str]:
    """Return the environment: offline, what vLLM compiles kept under ``cache`` unless the user says where."""
    kept = {name: value for name, value in inherited.items() if name not in _DROPPED_VARIABLES}
    return {"VLLM_CACHE_ROOT": str(cache), **kept, **OFFLINE, **_VLLM_ENVIRONMENT}


SERVED_NAME = "llm"
"""The name that requests give the model, whatever folder it lies in."""


def memory_flags(plan: MemoryPlan) -> tuple[str, ...]:
    """Return the options that hold vLLM to the plan.

    Both the share and the cache's bytes: the bytes decide, and the share is what vLLM compares with the free memory
    before it starts.
    """
    request = plan.request
    flags = [
        *("--gpu-memory-utilization", f"{plan.gpu_memory_utilization:.3f}"),
        *("--kv-cache-memory-bytes", f"{plan.kv_pool // MIB}M"),
        *("--max-model-len", str(request.context)),
        *("--max-num-seqs", str(plan.max_num_seqs)),
        *("--max-num-batched-tokens", str(request.batch)),
    ]
    if request.kv_dtype != "auto":
        flags += ["--kv-cache-dtype", request.kv_dtype]
    if not request.caches_prefixes:
        flags.append("--no-enable-prefix-caching")
    if request.eager:
        flags.append("--enforce-eager")
    return (*flags, *request.model.flags)


def vllm_command(plan: MemoryPlan, socket: Path, python: str = "python") -> tuple[str, ...]:
    """Return the arguments that start vLLM's server on a Unix socket, answers reproducible and JSON kept short.

    ``python`` is the interpreter of vLLM's own environment. The module and not the ``vllm`` command: it is there in
    every build.
    """
    thinking = (
        ("--default-chat-template-kwargs", '{"enable_thinking":false}') if plan.request.model.emits_reasoning else ()
    )
    return (
        *(python, "-m", "vllm.entrypoints.openai.api_server"),
        *("--model", plan.request.model.path, "--served-model-name", SERVED_NAME, "--uds", str(socket)),
        *memory_flags(plan),
        *COMPACT_JSON_FLAGS,
        *thinking,
        *("--generation-config", "vllm", "--seed", "0"),
    )


def shell_line(command: Sequence[str]) -> str:
    """Return a command as one line for a shell, the offline environment before it."""
    return f"{' '.join(f'{name}={value}' for name, value in OFFLINE.items())} {shlex.join(command)}"
