"""Options of servers: API key, host names, limits, answer cache."""

from __future__ import annotations

import os
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from shrag.serving.http.api_key import ApiKey, read_key_file
from shrag.serving.runtime.admission import ServerLimits

if TYPE_CHECKING:
    from shrag.models.chat.settings import LlmSettings
    from shrag.serving.answer_cache import AnswerCache


_Command = TypeVar("_Command", bound=Callable[..., Any])
API_KEY_VARIABLE = "SHRAG_API_KEY"
_CREDENTIALS = "CREDENTIALS_DIRECTORY"
_DEFAULTS = ServerLimits()


def access_options(command: _Command) -> _Command:
    """Add the options ``--api-key-file`` and ``--allow-host`` to a command."""
    key_file = click.option(
        "--api-key-file",
        type=click.Path(path_type=Path, dir_okay=False),
        help=f"A file with the API key of requests, readable by its owner only; or {API_KEY_VARIABLE}.",
    )
    names = click.option(
        "--allow-host",
        "names_allowed",
        multiple=True,
        metavar="NAME",
        help="Another host name or address of this server; repeatable.",
    )
    return key_file(names(command))


def limit_options(command: _Command) -> _Command:
    """Add the options ``--asks``, ``--queued-asks`` and ``--deadline`` to a command."""
    asks = click.option(
        "--asks",
        type=click.IntRange(1, 512),
        default=_DEFAULTS.asks,
        show_default=True,
        help="Most answers computed at once.",
    )
    queued = click.option(
        "--queued-asks",
        type=click.IntRange(0),
        default=_DEFAULTS.queued_asks,
        show_default=True,
        help="Most answers waiting; further requests are refused.",
    )
    deadline = click.option(
        "--deadline",
        type=click.FloatRange(0, min_open=True),
        default=_DEFAULTS.deadline,
        show_default=True,
        help="Most seconds of a request.",
    )
    return asks(queued(deadline(command)))


def cache_options(command: _Command) -> _Command:
    """Add the options ``--cache-mib`` and ``--no-cache`` to a command."""
    size = click.option(
        "--cache-mib", type=click.IntRange(1), default=256, show_default=True, help="Memory of the answer cache in MiB."
    )
    none = click.option("--no-cache", is_flag=True, help="Do not cache answers.")
    return size(none(command))


def open_cache(
    cache_mib: int, llm: LlmSettings, reranker: str, min_score: float | None, *, no_cache: bool
) -> AnswerCache | None:
    """Return an empty cache for answers under these settings, None with ``no_cache``."""
    from shrag.serving.answer_cache import AnswerCache

    return None if no_cache else AnswerCache(cache_mib << 20, f"{llm.fingerprint} {reranker} {min_score}")


def read_api_key(file: Path | None, environment: MutableMapping[str, str] | None = None) -> ApiKey | None:
    """Return the API key in ``file`` or in ``SHRAG_API_KEY``, None without either.

    ``SHRAG_API_KEY`` is removed from the environment.

    Raises:
        click.UsageError: Both are given.
        KeyRejected: The key is invalid, or others can read its file.
    """
    environment = os.environ if environment is None else environment
    # Processes that this one starts, such as a model's server, must not get the key.
    given = environment.pop(API_KEY_VARIABLE, None)
    if file is None:
        return None if given is None else ApiKey(given)
    if given is not None:
        raise click.UsageError(
            f"The API key is given twice, by {API_KEY_VARIABLE} and by --api-key-file: give it once."
        )
    credentials = environment.get(_CREDENTIALS)
    return read_key_file(file, Path(credentials) if credentials else None)
