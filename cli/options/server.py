"""Options of the server: limits and answer cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from shrag.serving.runtime.admission import ServerLimits

if TYPE_CHECKING:
    from shrag.models.chat.settings import LlmSettings
    from shrag.serving.answer_cache import AnswerCache


_Command = TypeVar("_Command", bound=Callable[..., Any])
_USUAL = ServerLimits()


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


def cache_options(command: _Command) -> _Command:
    """Give a command that goes on answering the options ``--cache-mib`` and ``--no-cache``."""
    size = click.option(
        "--cache-mib", type=click.IntRange(1), default=256, show_default=True, help="Memory that kept answers may take."
    )
    none = click.option("--no-cache", is_flag=True, help="Keep no answer, and answer each question by itself.")
    return size(none(command))


def chosen_cache(
    cache_mib: int, llm: LlmSettings, reranker: str, min_score: float | None, *, no_cache: bool
) -> AnswerCache | None:
    """Return an empty cache for answers under these settings, None where ``no_cache`` wants none."""
    from shrag.serving.answer_cache import AnswerCache

    return None if no_cache else AnswerCache(cache_mib << 20, f"{llm.fingerprint} {reranker} {min_score}")
