"""Arguments that name corpora and indexes. Shells complete them with the existing names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from shrag.cli.settings import Home
from shrag.corpora.data_folder import data_folder
from shrag.corpora.errors import ConfigurationRejected

_Command = TypeVar("_Command", bound=Callable[..., Any])


def corpus_argument() -> Callable[[_Command], _Command]:
    """Return the decorator for the argument ``name``, which names a corpus."""
    return click.argument("name", shell_complete=_complete_corpora)


def index_argument(name: str = "name", **options: Any) -> Callable[[_Command], _Command]:  # noqa: ANN401  (click's)
    """Return the decorator for an argument that names an index; ``options`` are those of ``click.argument``."""
    return click.argument(name, shell_complete=_complete_indexes, **options)


def _complete_corpora(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from shrag.corpora.store.open_corpus import list_corpora

    home = _home(ctx)
    return _matching(list_corpora(home.corpora) if home else [], incomplete)


def _complete_indexes(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from shrag.indexing.maintenance.history import list_names

    home = _home(ctx)
    return _matching(list_names(home.indexes) if home else [], incomplete)


def _matching(names: list[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _home(ctx: click.Context) -> Home | None:
    """Return the data folder on the line being completed, else the default one. None if the configuration is wrong."""
    line: click.Context | None = ctx
    while line is not None:
        if line.get_parameter_source("home") is ParameterSource.COMMANDLINE:
            return line.find_object(Home)
        line = line.parent
    try:
        return Home(data_folder())
    except ConfigurationRejected:
        return None
