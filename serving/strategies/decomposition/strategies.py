"""decompose, chain and rewrite strategies."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace

from shrag.serving.events import Event, ModelCall, Node, NodeKind
from shrag.serving.llm.call_budget import RationedModel
from shrag.serving.llm.request_model import attempt
from shrag.serving.request import Question, Request, parse_question
from shrag.serving.strategies.decomposition.coordination import parse_sentence, split_coordination
from shrag.serving.strategies.decomposition.multi_hop import walk_bridges, walk_steps
from shrag.serving.strategies.decomposition.planner import plan_parts, plan_rewrite, plan_steps
from shrag.serving.strategies.planning.plan import conclude, need_candidates, ration, ration_needed, told_once
from shrag.serving.strategies.planning.subquery import find_all, find_first
from shrag.serving.strategy import Resources, StageTimer

Planner = Callable[[Question, RationedModel], tuple[list[str], list[ModelCall]]]


class DecomposeStrategy:
    """Implements :class:`~shrag.serving.strategy.Strategy`: what a question joins is looked up side by side.

    Without a model, and where it fails, a question is taken apart by its coordination. What has one part is answered
    as ``shrag`` answers it.
    """

    name = "decompose"

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`."""
        need_candidates(self.name, request, resources)
        return told_once(self._run(request, *ration(resources)))

    def _run(self, request: Request, resources: Resources, model: RationedModel | None) -> Generator[Event, None, None]:
        timer = StageTimer()
        root = Node(0, None, "question", request.question.text)
        yield root
        with timer.stage("plan"):
            parts, told = _plan(plan_parts, request.question, model)
            if parts is None:
                parts = split_coordination(request.question, parse_sentence)
        yield from told
        yield from _side_by_side(root, parts, "part", request, resources, timer)


class RewriteStrategy:
    """Implements :class:`~shrag.serving.strategy.Strategy`: the question is looked up in simpler words as well."""

    name = "rewrite"

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`; raises :class:`ModelNeeded` without a model."""
        rationed = ration_needed(self.name, resources)
        need_candidates(self.name, request, resources)
        return told_once(self._run(request, *rationed))

    def _run(self, request: Request, resources: Resources, model: RationedModel | None) -> Generator[Event, None, None]:
        timer = StageTimer()
        root = Node(0, None, "question", request.question.text)
        yield root
        with timer.stage("plan"):
            rewritten, told = _plan(plan_rewrite, request.question, model)
        yield from told
        yield from _side_by_side(root, rewritten or [], "rewrite", request, resources, timer)


class ChainStrategy:
    """Implements :class:`~shrag.serving.strategy.Strategy`: each step is looked up with what the ones before it found.

    Without a model, and where it makes no plan, names are followed from the best records to a second hop.
    """

    name = "chain"

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`."""
        need_candidates(self.name, request, resources)
        return told_once(self._run(request, *ration(resources)))

    def _run(self, request: Request, resources: Resources, model: RationedModel | None) -> Generator[Event, None, None]:
        timer = StageTimer()
        root = Node(0, None, "question", request.question.text)
        yield root
        with timer.stage("plan"):
            steps, told = _plan(plan_steps, request.question, model)
        yield from told
        root, first = yield from find_first(root, request, resources, timer)
        if steps is None or model is None:
            found = yield from walk_bridges(first, request, resources, timer)
        else:
            found = yield from walk_steps(steps, request, resources, model, timer)
        yield from conclude(root, [first, *found], request, resources, timer)


def _plan(planner: Planner, question: Question, model: RationedModel | None) -> tuple[list[str] | None, list[Event]]:
    """Return the model's plan, None where there is no model or it failed, and what is to be told of it."""
    if model is None:
        return None, []
    return attempt("decompose", lambda: planner(question, model))


def _side_by_side(
    root: Node, texts: list[str], kind: NodeKind, request: Request, resources: Resources, timer: StageTimer
) -> Generator[Event, None, None]:
    """Look up the question and what it was turned into at once, and answer from what all of them found."""
    nodes = [Node(number, 0, kind, text) for number, text in enumerate(texts, 1)]
    yield from nodes
    with timer.stage("search"):
        found = find_all([request.question, *map(parse_question, texts)], request, resources)
    for node, one in zip([root, *nodes], found, strict=True):
        yield from one.model_events
        looked_up = replace(node, query=node.question, docids=one.hits.candidates)
        if node is root:
            root = looked_up
        else:
            looked_up = replace(looked_up, state="answered" if one.hits.candidates else "unanswered")
        yield looked_up
    yield from conclude(root, found, request, resources, timer)
