"""Start a model server within a memory plan, and keep its log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from shrag.models.chat.endpoint_probe import shown
from shrag.models.chat.settings import LlmSettings
from shrag.models.memory_plan.byte_sizes import parse_size
from shrag.models.memory_plan.gpu_cards import find_card, load_cards
from shrag.models.memory_plan.gpu_use import Query, ask_nvidia_smi, card_of, read_gpu
from shrag.models.memory_plan.model_size import find_language_model, load_profiles, profile_size
from shrag.models.memory_plan.plan import BudgetPlan, Part, PlanRequest
from shrag.models.memory_plan.suggestions import plan_budget
from shrag.models.model_server.command import memory_flags


def plan_server(
    settings: LlmSettings, retrieval: Sequence[Part], weights: Path, query: Query = ask_nvidia_smi
) -> BudgetPlan | None:
    """Return the plan of ``settings.budget``, None where there is none.

    ``retrieval`` is what encoder, re-ranker and vectors take beside it, ``weights`` where named weights lie. Raises as
    :func:`~shrag.models.memory_plan.suggestions.plan_budget` does, and :class:`~shrag.models.errors.GpuMissing` where
    neither a card is named nor a GPU can be asked.
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


_KEPT = 5
_TAIL = 64 * 1024


def rotate(log: Path) -> None:
    """Make room for a new log: ``vllm.log`` becomes ``vllm.log.1``, and so on up to ``.5``, whose elder goes."""
    log.parent.mkdir(parents=True, exist_ok=True)
    for number in range(_KEPT - 1, -1, -1):
        older = log.with_name(f"{log.name}.{number}") if number else log
        if older.is_file():
            older.replace(log.with_name(f"{log.name}.{number + 1}"))


def last_words(log: Path, since: int) -> str:
    """Return the last line after byte ``since`` that tells of an error, else the last line, fit for one line."""
    try:
        with log.open("rb") as file:
            file.seek(max(since, log.stat().st_size - _TAIL))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    spoken = [line.strip() for line in lines if line.strip()]
    telling = [line for line in spoken if "error" in line.lower() or "cannot" in line.lower()]
    return shown((telling or spoken or [""])[-1])
