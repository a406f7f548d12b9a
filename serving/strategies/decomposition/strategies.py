"""The strategies decompose, chain and rewrite: a question is searched for together with questions made from it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import partial

from shrag.models.language_model import LanguageModel
from shrag.serving.events import Event, ModelCall, Node, NodeKind
from shrag.serving.llm.request_model import attempt
from shrag.serving.request import Question, parse_question
from shrag.serving.strategies.decomposition.coordination import parse_sentence, split_coordination
from shrag.serving.strategies.decomposition.multi_hop import follow_bridges, run_chain
from shrag.serving.strategies.decomposition.planner import plan_parts, plan_rewrite, plan_steps
from shrag.serving.strategies.planning.plan import Plan, PlanStrategy
from shrag.serving.strategies.planning.subquery import find_all

Planner = Callable[[Question, LanguageModel], tuple[list[str], list[ModelCall]]]


def decompose(plan: Plan) -> Generator[Event, None, None]:
    """Search in parallel for a question and its independent parts, by a model or else by its coordination."""
    parts = yield from _ask_planner(plan_parts, plan)
    if parts is None:
        with plan.timer.stage("plan"):
            parts = split_coordination(plan.question, parse_sentence)
    yield from _search_with(parts, "part", plan)


def rewrite(plan: Plan) -> Generator[Event, None, None]:
    """Search in parallel for a question and for it in simpler words, which a model writes."""
    rewritten = yield from _ask_planner(plan_rewrite, plan)
    yield from _search_with(rewritten or [], "rewrite", plan)


def chain(plan: Plan) -> Generator[Event, None, None]:
    """Search for a question, then for a model's steps to its answer; without those, follow its bridge entities."""
    steps = yield from _ask_planner(plan_steps, plan)
    first = yield from plan.find_first()
    found = yield from follow_bridges(first, plan) if steps is None else run_chain(steps, plan)
    yield from plan.conclude([first, *found])


DECOMPOSITION = (
    PlanStrategy("decompose", decompose),
    PlanStrategy("chain", chain),
    PlanStrategy("rewrite", rewrite, needs_model=True),
)


def _ask_planner(planner: Planner, plan: Plan) -> Generator[Event, None, list[str] | None]:
    """Return the questions that the model plans, None where there is no model or it fails."""
    with plan.timer.stage("plan"):
        questions, events = attempt("decompose", plan.resources.model, partial(planner, plan.question))
    yield from events
    return questions


def _search_with(texts: Sequence[str], kind: NodeKind, plan: Plan) -> Generator[Event, None, None]:
    """Search for the question and ``texts`` in parallel, and answer from all results."""
    nodes = [Node(number, 0, kind, text) for number, text in enumerate(texts, 1)]
    yield from nodes
    with plan.timer.stage("search"):
        found = find_all([plan.question, *map(parse_question, texts)], plan.request, plan.resources)
    for node, one in zip([plan.root, *nodes], found, strict=True):
        yield from one.model_events
        searched = replace(node, query=node.question, docids=one.hits.candidates)
        if node is plan.root:
            plan.root = searched
        else:
            searched = replace(searched, state="answered" if one.hits.candidates else "unanswered")
        yield searched
    yield from plan.conclude(found)
