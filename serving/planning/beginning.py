"""The beginning of every plan: what it cannot do without, and a language model of its own within a ration."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import replace

from shrag.serving.climb import candidates_of, need_vectors
from shrag.serving.errors import ModelNeeded
from shrag.serving.events import CutShort, Event, Spent
from shrag.serving.planning.rationed_model import Ration, RationedModel
from shrag.serving.strategy import Request, Resources


def need_model(strategy: str, resources: Resources) -> None:
    """Raise :class:`ModelNeeded` where there is no language model."""
    if resources.model is None:
        raise ModelNeeded(
            f"The strategy {strategy} needs a language model, and none is set: name one in [llm], or ask with another "
            "strategy."
        )


def need_candidates(strategy: str, request: Request, resources: Resources) -> None:
    """Raise :class:`StrategyUnavailable` where the settings want vectors and the index has none, or no encoder."""
    if candidates_of(request, "lexical") != "lexical":
        need_vectors(resources.index, f"the strategy {strategy}", "ask with another strategy")


def ration(resources: Resources, allowed: Ration | None = None) -> tuple[Resources, RationedModel | None]:
    """Return the resources with the model they have within a ration of its own, and that model."""
    if resources.model is None:
        return resources, None
    model = RationedModel(resources.model, allowed)
    return replace(resources, model=model), model


def told_once(events: Generator[Event, None, None]) -> Generator[Event, None, None]:
    """Yield ``events``; what a plan has run out of is told once, however many of its steps that stops."""
    told: set[Spent] = set()
    with closing(events):
        for event in events:
            if isinstance(event, CutShort):
                if event.spent in told:
                    continue
                told.add(event.spent)
            yield event
