"""Tree-of-Question as a strategy: the reader's question first; what one search does not answer grows smaller ones."""

from __future__ import annotations

from collections.abc import Generator

from shrag.serving.events import Event
from shrag.serving.planning.beginning import need_candidates, ration, told_once
from shrag.serving.planning.concluding import conclude
from shrag.serving.planning.rationed_model import Ration, RationedModel
from shrag.serving.stopwatch import Stopwatch
from shrag.serving.strategy import Request, Resources
from shrag.serving.tree.growth import Growth, Limits
from shrag.serving.tree.hand import Hand
from shrag.serving.tree.model_hand import ModelHand
from shrag.serving.tree.rule_hand import RuleHand


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
        watch = Stopwatch()
        hand: Hand = RuleHand(resources.index.analyzer)
        if model is not None:
            hand = ModelHand(model, hand)
        growth = Growth(request, resources, hand, self._limits, watch)
        yield from growth.grow()
        yield from conclude(growth.root, growth.found(), request, resources, watch)
