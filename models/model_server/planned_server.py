"""Plan the memory of the configured model server, and add the plan's options to its settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

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
    """Plan the memory of a server with ``settings.budget`` beside the parts ``retrieval``; None where no budget is set.

    Raises as :func:`~shrag.models.memory_plan.suggestions.plan_memory` does, and
    :class:`~shrag.models.errors.GpuMissing` where no card is configured and no GPU can be read.
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
    """Return the settings with the plan's options; the user's flags come after them and override them."""
    if plan is None:
        return settings
    return msgspec.structs.replace(settings, flags=[*memory_flags(plan), *settings.extra_flags])
