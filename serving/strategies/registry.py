"""Registry of strategies: by name, or composed of stages by a line."""

from __future__ import annotations

import re
from collections.abc import Mapping

from shrag.serving.errors import UnknownStrategy
from shrag.serving.strategies.bm25 import Bm25Strategy
from shrag.serving.strategies.decomposition.strategies import ChainStrategy, DecomposeStrategy, RewriteStrategy
from shrag.serving.strategies.iterative import ITERATIVE
from shrag.serving.strategies.pipeline.presets import PRESETS, parse_preset
from shrag.serving.strategies.pipeline.strategy import CompositionStrategy
from shrag.serving.strategies.pipeline.syntax import KINDS, LONGEST_LINE, parse_composition
from shrag.serving.strategies.shrag import ShragStrategy, hybrid_strategy
from shrag.serving.strategies.stepwise.strategies import stepwise_strategies
from shrag.serving.strategies.tree.strategy import TreeStrategy
from shrag.serving.strategy import Strategy

_COMPOSED = re.compile("[>(]")

_STRATEGIES: tuple[Strategy, ...] = (
    ShragStrategy(),
    Bm25Strategy(),
    hybrid_strategy(),
    DecomposeStrategy(),
    ChainStrategy(),
    RewriteStrategy(),
    TreeStrategy(),
    *ITERATIVE,
    *stepwise_strategies(),
    *(CompositionStrategy(way, name) for name, way in PRESETS.items()),
)

STRATEGIES: Mapping[str, Strategy] = {strategy.name: strategy for strategy in _STRATEGIES}
"""The strategies by name, in the order in which they are listed."""


def find_strategy(name: str) -> Strategy:
    """Return the strategy called ``name``, or composed by a line; raises as :func:`compose_strategy` does."""
    return STRATEGIES.get(name) or compose_strategy(name)


def compose_strategy(line: str) -> Strategy:
    """Return the strategy that a line composes of stages, as ``retrieve(10) > rerank(5)`` or ``pipeline-2(9, 3)``.

    Raises:
        UnknownStrategy: It composes none, with the names of those there are; or its stages do not fit each other.
    """
    if _COMPOSED.search(line) or line.strip() in KINDS:
        return CompositionStrategy(parse_preset(line) or parse_composition(line))
    shown = line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"
    raise UnknownStrategy(
        f"There is no strategy {shown!r}: use one of {', '.join(STRATEGIES)}, or compose stages, as in "
        "'retrieve(15) > rerank(5)'."
    )
