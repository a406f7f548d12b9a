"""Start and finish a multi-query plan."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import replace

from shrag.models.language_model import LanguageModel
from shrag.serving.answering.answer import answer
from shrag.serving.errors import ModelNeeded
from shrag.serving.events import Answer, Budget, Event, Node, Timings, Truncated
from shrag.serving.llm.call_budget import Ration, RationedModel
from shrag.serving.request import Request
from shrag.serving.strategies.planning.merging import merge
from shrag.serving.strategies.planning.subquery import SubqueryResult
from shrag.serving.strategy import Resources, StageTimer, choose_candidates, require_vectors


def need_model(strategy: str, resources: Resources) -> LanguageModel:
    """Return the language model; raises :class:`ModelNeeded` where there is none."""
    if resources.model is None:
        raise ModelNeeded(
            f"The strategy {strategy} needs a language model, and none is set: name one in [llm], or ask with another "
            "strategy."
        )
    return resources.model


def need_candidates(strategy: str, request: Request, resources: Resources) -> None:
    """Raise :class:`StrategyUnavailable` where the settings want vectors and the index has none, or no encoder."""
    if choose_candidates(request, "lexical") != "lexical":
        require_vectors(resources.index, f"the strategy {strategy}", "ask with another strategy")


def ration(resources: Resources, allowed: Ration | None = None) -> tuple[Resources, RationedModel | None]:
    """Return the resources with the model they have within a ration of its own, and that model."""
    if resources.model is None:
        return resources, None
    model = RationedModel(resources.model, allowed)
    return replace(resources, model=model), model


def ration_needed(
    strategy: str, resources: Resources, allowed: Ration | None = None
) -> tuple[Resources, RationedModel]:
    """Return the same where there has to be a model; raises as :func:`need_model` does."""
    model = RationedModel(need_model(strategy, resources), allowed)
    return replace(resources, model=model), model


def told_once(events: Generator[Event, None, None]) -> Generator[Event, None, None]:
    """Yield ``events``; what a plan has run out of is told once, however many of its steps that stops."""
    told: set[Budget] = set()
    with closing(events):
        for event in events:
            if isinstance(event, Truncated):
                if event.exhausted in told:
                    continue
                told.add(event.exhausted)
            yield event


def conclude(
    root: Node,
    found: Sequence[SubqueryResult],
    request: Request,
    resources: Resources,
    timer: StageTimer,
    notes: str = "",
) -> Generator[Event, None, None]:
    """Yield the search that ``found`` makes, the answer if one is wanted, ``root`` as it stands then, the timings.

    The first of ``found`` is the reader's own question's. ``notes`` are what the plan worked out, for who writes the
    answer.
    """
    with timer.stage("ranking"):
        merged = merge(found, request)
    yield from merged.events
    rest = answer(request, merged, resources, timer, notes)
    yield from closing_with(root, rest, answered=bool(merged.ranking.records))


def closing_with(root: Node, rest: Iterable[Event], *, answered: bool) -> Generator[Event, None, None]:
    """Yield ``rest``, with ``root`` as it stands then before the timings.

    ``answered`` is how it stands where no answer is wanted.
    """
    for event in rest:
        if isinstance(event, Answer):
            answered = not event.reason
        if isinstance(event, Timings):
            yield replace(root, state="answered" if answered else "unanswered")
        yield event
