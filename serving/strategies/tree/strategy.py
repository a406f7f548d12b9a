"""tree strategy (Tree-of-Question)."""

from __future__ import annotations

from collections.abc import Generator

from shrag.serving.events import Event
from shrag.serving.llm.call_budget import Ration, RationedModel
from shrag.serving.request import Request
from shrag.serving.strategies.planning.plan import conclude, need_candidates, ration, told_once
from shrag.serving.strategies.tree.expansion import Growth, Limits
from shrag.serving.strategies.tree.model_policy import ModelHand
from shrag.serving.strategies.tree.policy import Hand, RuleHand
from shrag.serving.strategy import Resources, StageTimer


class TreeStrategy:
    """Implements :class:`~shrag.serving.strategy.Strategy`.

    ``limits`` bound the tree, ``ration`` the model's calls. Without a model rules grow the tree: a question is taken
    apart by what it joins and followed from name to name, and an answer holds where a record has the question's words.
    """

    name = "tree"

    def __init__(self, limits: Limits | None = None, ration: Ration | None = None) -> None:
        self._limits = limits or Limits()
        self._ration = ration

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`."""
        need_candidates(self.name, request, resources)
        return told_once(self._run(request, *ration(resources, self._ration)))

    def _run(self, request: Request, resources: Resources, model: RationedModel | None) -> Generator[Event, None, None]:
        timer = StageTimer()
        hand: Hand = RuleHand(resources.index.analyzer)
        if model is not None:
            hand = ModelHand(model, hand)
        growth = Growth(request, resources, hand, self._limits, timer)
        yield from growth.grow()
        yield from conclude(growth.root, growth.found(), request, resources, timer)
