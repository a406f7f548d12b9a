"""Option ``--strategy``."""

from __future__ import annotations

import click

from shrag.serving.errors import UnknownStrategy
from shrag.serving.request import DEFAULT_STRATEGY
from shrag.serving.strategies.registry import STRATEGIES, find_strategy


class StrategyName(click.ParamType[str]):
    """A name that :func:`~shrag.serving.engine.find_strategy` knows or a line that it can read."""

    name = "strategy"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """See click; what cannot be read is said before an index is opened."""
        try:
            find_strategy(value)
        except UnknownStrategy as error:
            self.fail(str(error), param, ctx)
        return value


strategy_option = click.option(
    "--strategy",
    type=StrategyName(),
    default=DEFAULT_STRATEGY,
    show_default=True,
    help=f"One of {', '.join(STRATEGIES)}; or stages, as in 'augment(2) > retrieve(10) > rrf(15) > rerank(5)'.",
)
"""For commands that ask questions."""
