"""Start a model server within a memory plan, and keep its log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from shrag.models.chat.endpoint_probe import to_one_line
from shrag.models.chat.settings import LlmSettings
from shrag.models.memory_plan.byte_sizes import parse_size
from shrag.models.memory_plan.gpu_cards import find_card, load_cards
from shrag.models.memory_plan.gpu_use import NvidiaSmi, ask_nvidia_smi, read_gpu, to_gpu_card
from shrag.models.memory_plan.model_size import find_language_model, load_profiles, profile_size
from shrag.models.memory_plan.plan import MemoryPart, MemoryPlan, PlanRequest
from shrag.models.memory_plan.suggestions import plan_memory
from shrag.models.model_server.command import memory_flags


def plan_server(
    settings: LlmSettings, retrieval: Sequence[MemoryPart], weights: Path, query: NvidiaSmi = ask_nvidia_smi
) -> MemoryPlan | None:
    """Return the plan of ``settings.budget``, None where there is none.

    ``retrieval`` is what encoder, re-ranker and vectors take beside it, ``weights`` where named weights lie. Raises as
    :func:`~shrag.models.memory_plan.suggestions.plan_memory` does, and :class:`~shrag.models.errors.GpuMissing` where
    neither a card is named nor a GPU can be asked.
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
    """Return the settings with the plan's flags; the user's own stand behind them, so that they win."""
    if plan is None:
        return settings
    return msgspec.structs.replace(settings, flags=[*memory_flags(plan), *settings.extra_flags])


_KEPT_LOGS = 5
_TAIL_BYTES = 64 * 1024


def rotate_log(log: Path) -> None:
    """Make room for a new log: ``vllm.log`` becomes ``vllm.log.1``, and so on up to ``.5``, whose elder goes."""
    log.parent.mkdir(parents=True, exist_ok=True)
    for number in range(_KEPT_LOGS - 1, -1, -1):
        older = log.with_name(f"{log.name}.{number}") if number else log
        if older.is_file():
            older.replace(log.with_name(f"{log.name}.{number + 1}"))


def last_error_line(log: Path, since: int) -> str:
    """Return the last line after byte ``since`` that tells of an error, else the last line, fit for one line."""
    try:
        with log.open("rb") as file:
            file.seek(max(since, log.stat().st_size - _TAIL_BYTES))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    spoken = [line.strip() for line in lines if line.strip()]
    telling = [line for line in spoken if "error" in line.lower() or "cannot" in line.lower()]
    return to_one_line((telling or spoken or [""])[-1])
