"""Registry of the strategies: by name, or by a line of pipeline stages."""

from __future__ import annotations

import re
from collections.abc import Mapping

from shrag.corpora.near_names import did_you_mean
from shrag.messages.text import Text
from shrag.serving.errors import UnknownStrategy
from shrag.serving.strategies.bm25 import Bm25Strategy
from shrag.serving.strategies.decomposition.strategies import DECOMPOSITION
from shrag.serving.strategies.iterative import ITERATIVE
from shrag.serving.strategies.pipeline.presets import PRESETS, parse_preset
from shrag.serving.strategies.pipeline.strategy import PipelineStrategy
from shrag.serving.strategies.pipeline.syntax import LONGEST_LINE, STAGE_KINDS, parse_pipeline
from shrag.serving.strategies.shrag import ShragStrategy, hybrid_strategy
from shrag.serving.strategies.stepwise.strategies import STEPWISE
from shrag.serving.strategies.tree.search import TREE
from shrag.serving.strategy import Strategy

_STAGES = re.compile("[>(]")

_STRATEGIES: tuple[Strategy, ...] = (
    ShragStrategy(),
    Bm25Strategy(),
    hybrid_strategy(),
    *DECOMPOSITION,
    TREE,
    *ITERATIVE,
    *STEPWISE,
    *(PipelineStrategy(pipeline, name, "") for name, pipeline in PRESETS.items()),
)

STRATEGIES: Mapping[str, Strategy] = {strategy.name: strategy for strategy in _STRATEGIES}
"""The strategies by name, in the order in which they are listed."""


def find_strategy(name: str) -> Strategy:
    """Return the strategy called ``name``, or of a line of stages: ``retrieve(10) > rerank(5)``, ``pipeline-2(9, 3)``.

    The names ``pipeline-2-bm25`` and ``pipeline-2-dense`` of a preset say what it searches.

    Raises:
        UnknownStrategy: There is no such strategy; the message has the names.
        PipelineRejected: The stages do not fit each other.
    """
    if name in STRATEGIES:
        return STRATEGIES[name]
    if (preset := parse_preset(name)) is not None:
        return PipelineStrategy(preset.pipeline, name.strip(), preset.source)
    if _STAGES.search(name) or name.strip() in STAGE_KINDS:
        return PipelineStrategy(parse_pipeline(name))
    shown = name if len(name) <= LONGEST_LINE else f"{name[:LONGEST_LINE]}…"
    raise UnknownStrategy(
        Text(
            "There is no strategy {shown!r}: use one of {strategies}, or compose stages, as in 'retrieve(15) > "
            "rerank(5)'.{hint}",
            shown=shown,
            strategies=", ".join(STRATEGIES),
            hint=did_you_mean(name, STRATEGIES),
        )
    )
