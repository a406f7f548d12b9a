"""Options of servers: API key, host names, limits, answer cache."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shrag.cli.options.engine import choose_engine, engine_options
from shrag.cli.options.number import NumberRange
from shrag.cli.options.search import min_confidence_option, option_group, reranker_options, verify_option
from shrag.indexing.search_engine import EngineChoice, EngineName
from shrag.indexing.storage.checksums import Verify
from shrag.messages.text import Text
from shrag.serving.http.api_key import ApiKey, read_key_file
from shrag.serving.runtime.admission import ServerLimits

if TYPE_CHECKING:
    from shrag.models.chat.settings import LlmSettings
    from shrag.serving.answer_cache import AnswerCache


API_KEY_VARIABLE = "SHRAG_API_KEY"
_CREDENTIALS = "CREDENTIALS_DIRECTORY"
_DEFAULTS = ServerLimits()


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The values of :data:`server_options`; each is the command-line option of the same name."""

    api_key_file: Path | None
    names_allowed: tuple[str, ...]
    reranker: str
    min_score: float | None
    min_confidence: float | None
    verify: Verify
    engine: EngineName
    engine_address: str
    engine_key_file: Path | None
    engine_timeout: float
    asks: int
    queued_asks: int
    deadline: float
    cache_mib: int
    no_cache: bool

    def choose_engine(self) -> EngineChoice:
        """Return the search engine that the options choose."""
        return choose_engine(self.engine, self.engine_address, self.engine_key_file, self.engine_timeout)

    def open_cache(self, llm: LlmSettings) -> AnswerCache | None:
        """Return an empty cache for answers under these settings, None with ``--no-cache``."""
        from shrag.serving.answer_cache import AnswerCache

        key = f"{llm.fingerprint} {self.reranker} {self.min_score}"
        return None if self.no_cache else AnswerCache(self.cache_mib << 20, key)


server_options = option_group(
    ServerOptions,
    click.option(
        "--api-key-file",
        type=click.Path(path_type=Path, dir_okay=False),
        help=f"File with the API key that requests need, readable by its owner only. {API_KEY_VARIABLE} can give "
        "the key instead.",
    ),
    click.option(
        "--allow-host",
        "names_allowed",
        multiple=True,
        metavar="NAME",
        help="Another host name or address of this server; repeatable.",
    ),
    reranker_options,
    min_confidence_option,
    verify_option,
    engine_options,
    click.option(
        "--asks",
        type=click.IntRange(1, 512),
        default=_DEFAULTS.asks,
        show_default=True,
        help="Maximum number of answers computed at once.",
    ),
    click.option(
        "--queued-asks",
        type=click.IntRange(0),
        default=_DEFAULTS.queued_asks,
        show_default=True,
        help="Maximum number of answers waiting; further requests are refused.",
    ),
    click.option(
        "--deadline",
        type=NumberRange(0, min_open=True),
        default=_DEFAULTS.deadline,
        show_default=True,
        help="Maximum seconds for a request.",
    ),
    click.option(
        "--cache-mib", type=click.IntRange(1), default=256, show_default=True, help="Memory of the answer cache in MiB."
    ),
    click.option("--no-cache", is_flag=True, help="Do not cache answers."),
)
"""Adds the options that ``serve`` and ``mcp`` share, as one ``options: ServerOptions``."""


def read_api_key(file: Path | None, environment: MutableMapping[str, str] | None = None) -> ApiKey | None:
    """Return the API key in ``file`` or in ``SHRAG_API_KEY``, or None without either.

    The variable is removed from the environment.

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
            Text(
                "The API key is given twice, by {api_key_variable} and by --api-key-file: give it once.",
                api_key_variable=API_KEY_VARIABLE,
            )
        )
    credentials = environment.get(_CREDENTIALS)
    return read_key_file(file, Path(credentials) if credentials else None)
