from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import pytest

from shrag.serving.engine import Engine
from shrag.serving.errors import BudgetExceeded, StrategyUnavailable
from shrag.serving.events import Answer, EmptyReason, Event, Node, NodeState, Timings, Truncated
from shrag.serving.request import Request, parse_question
from shrag.serving.search_settings import PRODUCT, SearchSettings
from shrag.serving.strategies.planning.plan import Plan, PlanStrategy, insert_final_root, report_once, with_budget
from tests.support.scripted_models import ScriptedModel

NODE = Node(0, None, "question", "Why?")


def test_each_plan_has_its_own_budget_and_no_model_without_one(demo: Engine) -> None:
    assert with_budget(demo.resources, PRODUCT) == demo.resources
    resources = with_budget(replace(demo.resources, model=ScriptedModel("{}")), SearchSettings(calls=0))
    assert resources.model is not None
    with pytest.raises(BudgetExceeded, match="reached its limit of 0 calls"):
        resources.model.complete([])


def _no_steps(plan: Plan) -> Generator[Event, None, None]:
    yield from plan.conclude([])


def test_a_missing_model_or_missing_vectors_are_reported_before_any_event(demo: Engine) -> None:
    needing = PlanStrategy("x", _no_steps, needs_model=True)
    usual = Request(parse_question("?"), 1, answered=False)
    with pytest.raises(StrategyUnavailable, match=r"^The strategy x needs a language model, and none is set: name one"):
        needing.run(usual, demo.resources)
    needing.run(usual, replace(demo.resources, model=ScriptedModel()))
    strategy = PlanStrategy("x", _no_steps)
    bare = replace(demo.resources, index=replace(demo.open_index, dense=None))
    for candidates in ("strategy", "lexical", "dense", "hybrid"):
        settings = SearchSettings.from_mapping({"candidates": candidates})
        request = Request(parse_question("?"), 1, answered=False, settings=settings)
        strategy.run(request, demo.resources)
        if candidates in {"strategy", "lexical"}:
            strategy.run(request, bare)
        else:
            with pytest.raises(StrategyUnavailable, match="has no vectors, which the strategy x needs"):
                strategy.run(request, bare)


def test_an_exhausted_budget_is_reported_once() -> None:
    events: list[Event] = [NODE, Truncated("calls", 48), NODE, Truncated("calls", 48), Truncated("depth", 4)]
    assert list(report_once(_Events(events).run())) == [NODE, Truncated("calls", 48), NODE, Truncated("depth", 4)]


def test_closing_the_events_closes_the_plan() -> None:
    plan = _Events([NODE, NODE])
    telling = report_once(plan.run())
    assert next(telling) == NODE
    telling.close()
    assert plan.stopped


class _Events:
    """Events one after the other, and whether that was stopped."""

    def __init__(self, events: list[Event]) -> None:
        self._events = events
        self.stopped = False

    def run(self) -> Generator[Event, None, None]:
        try:
            yield from self._events
        except GeneratorExit:
            self.stopped = True
            raise


ROOT = Node(0, None, "question", "Why?")


@pytest.mark.parametrize(
    ("found", "reason", "state"),
    [
        (True, None, "answered"),
        (False, None, "unanswered"),
        (False, "", "answered"),
        (True, "nothing_fits", "unanswered"),
    ],
)
def test_the_final_root_is_answered_if_the_answer_is_or_else_if_records_were_found(
    found: bool, reason: EmptyReason | None, state: NodeState
) -> None:
    answers: list[Event] = [] if reason is None else [Answer("extractive", "en", (), (), reason)]
    events = list(insert_final_root(ROOT, [*answers, Timings({})], answered=found))
    assert events == [*answers, Node(0, None, "question", "Why?", state), Timings({})]
