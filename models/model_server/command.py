"""The command line, the environment and the memory plan of an offline vLLM server."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from shrag.messages.text import Text
from shrag.models.chat.settings import LlmSettings
from shrag.models.errors import ServerProgramMissing, WeightsMissing
from shrag.models.memory_plan.byte_sizes import MIB, parse_size
from shrag.models.memory_plan.gpu_cards import find_card, load_cards
from shrag.models.memory_plan.gpu_use import NvidiaSmi, ask_nvidia_smi, read_gpu, to_gpu_card
from shrag.models.memory_plan.model_size import find_language_model, load_profiles, profile_size
from shrag.models.memory_plan.plan import MemoryPart, MemoryPlan, PlanRequest
from shrag.models.memory_plan.suggestions import plan_memory

OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_NO_USAGE_STATS": "1",
}
"""The environment in which neither vLLM nor its libraries open a connection."""

COMPACT_JSON_FLAGS = ("--structured-outputs-config", '{"backend":"xgrammar","disable_any_whitespace":true}')
"""Options for compact JSON; without the second key, a weak model may write whitespace up to the token limit."""

_VLLM_ENVIRONMENT = {
    "VLLM_DO_NOT_TRACK": "1",
    # FlashInfer's kernels are compiled on first use and may be downloaded for that.
    "VLLM_USE_FLASHINFER_SAMPLER": "0",
}
# The server is another Python, so it must not get the variables for this process's Python, nor keys of other services.
_DROPPED_VARIABLES = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__", "OPENAI_API_KEY", "HF_TOKEN")


def check_server_program(settings: LlmSettings) -> None:
    """Raise :class:`ServerProgramMissing` or :class:`WeightsMissing` unless the program and the weights exist."""
    program = settings.arguments[0]
    if shutil.which(program) is None:
        raise ServerProgramMissing(
            Text(
                "{program} does not exist or is not executable: install vLLM in an environment of its own "
                "(docs/en/how-to/language-model.md) and give its Python as [llm] command.",
                program=program,
            )
        )
    folder = Path(settings.weights)
    if not (folder / "config.json").is_file():
        raise WeightsMissing(
            Text("{folder} has no config.json: give the folder of a model as [llm] weights.", folder=folder)
        )


def served_name(settings: LlmSettings) -> str:
    """Return the name under which the model is served: the configured name, or else the name of its folder."""
    return settings.model or Path(settings.weights).resolve().name


def server_command(settings: LlmSettings, socket: Path) -> list[str]:
    """Return the full command; the user's flags come last and override SHRAG's."""
    return [
        *settings.arguments,
        "--model",
        str(Path(settings.weights).resolve()),
        "--served-model-name",
        served_name(settings),
        "--uds",
        str(socket),
        "--disable-fastapi-docs",
        "--scheduling-policy",
        "priority",
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
    """Return the server's environment, which keeps it offline.

    Its compile cache is ``cache`` and its address is the loopback address, unless ``inherited`` sets them.
    """
    passed = {name: value for name, value in inherited.items() if name not in _DROPPED_VARIABLES}
    # To learn its own address, vLLM would connect a datagram socket to a public DNS server, though it sends nothing.
    ours = {"VLLM_CACHE_ROOT": str(cache), "VLLM_HOST_IP": "127.0.0.1"}
    return {**ours, **passed, **OFFLINE, **_VLLM_ENVIRONMENT}


SERVED_NAME = "llm"
"""The model's name in requests, whatever the name of its folder."""


def memory_flags(plan: MemoryPlan) -> tuple[str, ...]:
    """Return vLLM's memory options for a plan.

    The options set both the bytes of the cache and the share of the card. The bytes determine the cache, and vLLM
    compares the share with the free memory when it starts.
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
    """Return the command that starts vLLM's server on a Unix socket, with reproducible answers and compact JSON.

    ``python`` is the interpreter of vLLM's own environment. The command runs the module, since not every build has the
    ``vllm`` command.
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
    """Return a command with the offline environment as one line for a shell."""
    return f"{' '.join(f'{name}={value}' for name, value in OFFLINE.items())} {shlex.join(command)}"


def plan_server(
    settings: LlmSettings, retrieval: Sequence[MemoryPart], weights: Path, query: NvidiaSmi = ask_nvidia_smi
) -> MemoryPlan | None:
    """Plan the memory of a server with ``settings.budget`` beside the parts ``retrieval``; None without a budget.

    Raises as :func:`~shrag.models.memory_plan.suggestions.plan_memory` does, and
    :class:`~shrag.models.errors.GpuMissing` if no card is configured and no GPU can be read.
    """
    if not settings.budget:
        return None
    request = PlanRequest(
        card=find_card(settings.card) if settings.card else to_gpu_card(read_gpu(query)),
        budget=parse_size(settings.budget),
        model=find_language_model(settings.weights, weights, None),
        retrieval=tuple(retrieval),
    )
    profiles = [profile_size(name, weights) for name in load_profiles()]
    return plan_memory(request, profiles, load_cards().values())


def add_plan_flags(settings: LlmSettings, plan: MemoryPlan | None) -> LlmSettings:
    """Return the settings with the plan's options; the user's flags come after these and override them."""
    if plan is None:
        return settings
    return msgspec.structs.replace(settings, flags=[*memory_flags(plan), *settings.extra_flags])
