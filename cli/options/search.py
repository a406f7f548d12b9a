"""Options of the commands that open an index and search: ``ask``, ``search``, ``run``, ``mcp`` and ``serve``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from shrag.cli.options.engine import choose_engine, engine_options
from shrag.cli.options.model import configured_model, no_model_option
from shrag.cli.options.number import NumberRange
from shrag.cli.settings import Home
from shrag.indexing.lexical.jvm import expect_short_use
from shrag.indexing.search_engine import EngineName
from shrag.indexing.storage.checksums import Verify
from shrag.messages.text import Text, message_of
from shrag.serving.engine import Engine, open_engine
from shrag.serving.errors import UnknownStrategy
from shrag.serving.events import KeywordOrder
from shrag.serving.request import DEFAULT_STRATEGY
from shrag.serving.search_settings import SearchSettings
from shrag.serving.strategies.registry import STRATEGIES, find_strategy

_Command = TypeVar("_Command", bound=Callable[..., Any])


class StrategyName(click.ParamType[str]):
    """The name of a strategy or a pipeline that :func:`~shrag.serving.strategies.registry.find_strategy` accepts."""

    name = "strategy"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check the name before an index is opened (see click)."""
        name = str(value)  # shrag.toml may have a number
        try:
            find_strategy(name)
        except UnknownStrategy as error:
            self.fail(message_of(error), param, ctx)
        return name


strategy_option = click.option(
    "--strategy",
    type=StrategyName(),
    default=DEFAULT_STRATEGY,
    show_default=True,
    help=f"One of {', '.join(STRATEGIES)}; or a pipeline such as 'augment(2) > retrieve(10) > rrf(15) > rerank(5)'.",
)

keyword_order_option = click.option(
    "--keyword-order",
    type=click.Choice(get_args(KeywordOrder)),
    show_default="tfidf",
    help="How the keywords are ranked. The model's order exists only where a language model chooses the keywords.",
)

verify_option = click.option(
    "--verify",
    type=click.Choice(get_args(Verify)),
    default="changed",
    show_default=True,
    help="How much of the index to check before the first answer. Names and sizes of all files are always compared; "
    "changed also reads the files that changed since the last check, full reads all files, quick reads none. The "
    "rest is read while answering.",
)

set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A search setting for experiments (docs/en/reference/search-settings.md), such as ands=1; repeatable.",
)


def reranker_options(command: _Command) -> _Command:
    """Add the options ``--reranker`` and ``--min-score`` to a command."""
    reranker = click.option(
        "--reranker",
        default="auto",
        show_default=True,
        help="One of auto (by words, and by a model's vectors where the index has them), lexical (by words), vectors "
        "(the index's own), encoder (which encodes the candidates) and cross-encoder; or the name or folder of a "
        "cross-encoder.",
    )
    min_score = click.option(
        "--min-score",
        type=NumberRange(0, 1),
        help="Leave out records that a cross-encoder scores below this value.",
    )
    return reranker(min_score(command))


min_confidence_option = click.option(
    "--min-confidence",
    type=NumberRange(0, 1),
    show_default="the index's own",
    help="Refuse to answer if the confidence that a record answers is lower than this; 0 never refuses.",
)


def option_group(
    kind: type[Any], *options: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds ``options`` to a command and passes their values as one ``options`` of ``kind``."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def wrapped(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - any command's parameters
            return command(*args, options=kind(**{name: kwargs.pop(name) for name in kind.__slots__}), **kwargs)

        return functools.reduce(lambda decorated, option: option(decorated), reversed(options), wrapped)

    return decorate


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """The values of :data:`search_options`; each is the command-line option of the same name."""

    strategy: str
    keyword_order: KeywordOrder | None
    reranker: str
    min_score: float | None
    no_model: bool
    verify: Verify
    engine: EngineName
    engine_address: str
    engine_key_file: Path | None
    engine_timeout: float

    def open_engine(self, home: Home, name: str, question: str | None = None) -> Engine:
        """Open the index ``name`` with the configured language model.

        ``question`` is the only question of the command, if there is one. The command then starts faster.
        """
        model = configured_model(no_model=self.no_model)
        if question is not None:
            expect_short_use()
        return open_engine(
            home.indexes,
            name,
            question,
            self.verify,
            model=model,
            reranker=self.reranker,
            min_score=self.min_score,
            engine=choose_engine(self.engine, self.engine_address, self.engine_key_file, self.engine_timeout),
        )


search_options = option_group(
    SearchOptions,
    strategy_option,
    keyword_order_option,
    reranker_options,
    no_model_option,
    verify_option,
    engine_options,
)
"""Adds the options that ``ask``, ``search`` and ``run`` share, as one ``options: SearchOptions``."""


def read_settings(pairs: Sequence[str]) -> SearchSettings:
    """Return the settings of ``--set KEY=VALUE``. If a key is given twice, its last value counts."""
    for pair in pairs:
        if "=" not in pair:
            raise click.UsageError(Text("--set {pair} has no value: write KEY=VALUE, such as ands=1.", pair=pair))
    keys_and_values = (pair.partition("=") for pair in pairs)
    return SearchSettings.from_mapping({key.strip(): value.strip() for key, _, value in keys_and_values})
