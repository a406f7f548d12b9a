"""Starting a model server within a memory plan: ``[llm] budget`` → the flags that hold vLLM to its part of the card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from shrag.models.budget_plan import BudgetPlan, PlanRequest
from shrag.models.byte_sizes import parse_size
from shrag.models.gpu_cards import find_card, load_cards
from shrag.models.gpu_use import Query, ask_nvidia_smi, card_of, read_gpu
from shrag.models.language_model_profiles import find_language_model, load_profiles, profile_size
from shrag.models.llm_settings import LlmSettings
from shrag.models.memory_part import Part
from shrag.models.plan_changes import plan_budget
from shrag.models.vllm_command import memory_flags


def plan_server(
    settings: LlmSettings, retrieval: Sequence[Part], weights: Path, query: Query = ask_nvidia_smi
) -> BudgetPlan | None:
    """Return the plan of ``settings.budget``, None where there is none.

    ``retrieval`` is what encoder, re-ranker and vectors take beside it, ``weights`` where named weights lie. Raises as
    :func:`~shrag.models.plan_changes.plan_budget` does, and :class:`~shrag.models.errors.GpuMissing` where neither a
    card is named nor a GPU can be asked.
    """
    if not settings.budget:
        return None
    request = PlanRequest(
        card=find_card(settings.card) if settings.card else card_of(read_gpu(query)),
        budget=parse_size(settings.budget),
        model=find_language_model(settings.weights, weights, None),
        retrieval=tuple(retrieval),
    )
    profiles = [profile_size(name, weights) for name in load_profiles()]
    return plan_budget(request, profiles, load_cards().values())


def within_plan(settings: LlmSettings, plan: BudgetPlan | None) -> LlmSettings:
    """Return the settings with the plan's flags; the user's own stand behind them, so that they win."""
    if plan is None:
        return settings
    return msgspec.structs.replace(settings, flags=[*memory_flags(plan), *settings.extra_flags])
