"""The baselines of Tree-of-Question that search: by one query that a model writes, or turn after turn."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from functools import partial

from shrag.serving.events import Event, Node
from shrag.serving.fallback import attempt
from shrag.serving.iterative.walks import Walk, ask_oneself, think_aloud
from shrag.serving.planning.beginning import need_candidates, ration_needed, told_once
from shrag.serving.planning.concluding import conclude
from shrag.serving.planning.finding import find, find_first
from shrag.serving.planning.query_writing import write_query
from shrag.serving.planning.rationed_model import Ration, RationedModel
from shrag.serving.stopwatch import Stopwatch
from shrag.serving.strategy import Request, Resources


class DirectStrategy:
    """Implements :class:`~shrag.serving.strategy.Strategy`: one query that a model writes is searched for, once."""

    name = "direct"

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`; raises :class:`ModelNeeded` without a model."""
        need_candidates(self.name, request, resources)
        return told_once(self._run(request, *ration_needed(self.name, resources)))

    def _run(self, request: Request, resources: Resources, model: RationedModel) -> Generator[Event, None, None]:
        watch = Stopwatch()
        root = Node(0, None, "question", request.question.text)
        yield root
        with watch.stage("queries"):
            query, told = attempt("query", partial(write_query, request.question, model))
        yield from told
        with watch.stage("search"):
            found = find(query or request.question, request, replace(resources, model=None))
        root = replace(root, query=found.question.text, docids=found.hits.pool)
        yield root
        yield from conclude(root, [found], request, resources, watch)


class IterativeStrategy:
    """Implements :class:`~shrag.serving.strategy.Strategy`: the question is searched for, then what comes up, in turn.

    ``walk`` says what comes up.
    """

    def __init__(self, name: str, walk: Walk, ration: Ration | None = None) -> None:
        self._name = name
        self._walk = walk
        self._ration = ration

    @property
    def name(self) -> str:
        """See :class:`~shrag.serving.strategy.Strategy`."""
        return self._name

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`; raises :class:`ModelNeeded` without a model."""
        need_candidates(self.name, request, resources)
        return told_once(self._run(request, *ration_needed(self.name, resources, self._ration)))

    def _run(self, request: Request, resources: Resources, model: RationedModel) -> Generator[Event, None, None]:
        watch = Stopwatch()
        root = Node(0, None, "question", request.question.text)
        yield root
        root, first = yield from find_first(root, request, resources, watch)
        walked = yield from self._walk(first, request, resources, model, watch)
        yield from conclude(root, [first, *walked.found], request, resources, watch, walked.notes)


ITERATIVE = (
    DirectStrategy(),
    IterativeStrategy("previous-context", think_aloud),
    IterativeStrategy("self-ask", ask_oneself),
)
