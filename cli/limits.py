"""The options that say how much a server takes on at once, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from shrag.serving.limits import Limits

_Command = TypeVar("_Command", bound=Callable[..., Any])
_USUAL = Limits()


def limit_options(command: _Command) -> _Command:
    """Give a command that serves the options ``--asks``, ``--queued-asks`` and ``--deadline``."""
    asks = click.option(
        "--asks",
        type=click.IntRange(1, 512),
        default=_USUAL.asks,
        show_default=True,
        help="Answers worked on at once.",
    )
    queued = click.option(
        "--queued-asks",
        type=click.IntRange(0),
        default=_USUAL.queued_asks,
        show_default=True,
        help="Answers that may wait; more are refused.",
    )
    deadline = click.option(
        "--deadline",
        type=click.FloatRange(0, min_open=True),
        default=_USUAL.deadline,
        show_default=True,
        help="Seconds a request may take.",
    )
    return asks(queued(deadline(command)))
