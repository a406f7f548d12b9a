"""The command that starts vLLM within a plan. SHRAG's own environment does not need vLLM for it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from shrag.models.budget_plan import BudgetPlan
from shrag.models.byte_sizes import MIB
from shrag.models.vllm_start import OFFLINE, SHORT_JSON

SERVED_NAME = "llm"
"""The name that requests give the model, whatever folder it lies in."""


def memory_flags(plan: BudgetPlan) -> tuple[str, ...]:
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


def vllm_command(plan: BudgetPlan, socket: Path, python: str = "python") -> tuple[str, ...]:
    """Return the arguments that start vLLM's server on a Unix socket, answers reproducible and JSON kept short.

    ``python`` is the interpreter of vLLM's own environment. The module and not the ``vllm`` command: it is there in
    every build.
    """
    thinking = ("--default-chat-template-kwargs", '{"enable_thinking":false}') if plan.request.model.thinks else ()
    return (
        *(python, "-m", "vllm.entrypoints.openai.api_server"),
        *("--model", plan.request.model.path, "--served-model-name", SERVED_NAME, "--uds", str(socket)),
        *memory_flags(plan),
        *SHORT_JSON,
        *thinking,
        *("--generation-config", "vllm", "--seed", "0"),
    )


def shell_line(command: Sequence[str]) -> str:
    """Return a command as one line for a shell, the offline environment before it."""
    return f"{' '.join(f'{name}={value}' for name, value in OFFLINE.items())} {shlex.join(command)}"
