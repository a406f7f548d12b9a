"""Options of every command: the data folder, and what is printed on stderr."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from shrag.cli.output import Verbosity, echo, verbosity
from shrag.cli.settings import Home
from shrag.cli.versions import version_option
from shrag.corpora.data_folder import find_config, platform_folder
from shrag.messages.text import Text

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _set_home(ctx: click.Context, _: click.Parameter, home: Path | None) -> None:
    if home is not None:
        ctx.obj = Home(home.absolute())


def _set_server_home(ctx: click.Context, parameter: click.Parameter, home: Path | None) -> None:
    """Set the folder, unless a command line has one before ``serve`` and none behind it."""
    sources = [context.get_parameter_source("home") for context in (ctx, ctx.find_root())]
    if sources[0] is ParameterSource.COMMANDLINE or sources[1] is not ParameterSource.COMMANDLINE:
        _set_home(ctx, parameter, home)


def _set_verbosity(ctx: click.Context, parameter: click.Parameter, given: bool) -> None:
    if given and not ctx.resilient_parsing:
        verbosity.set(Verbosity.QUIET if parameter.name == "quiet" else Verbosity.VERBOSE)


_home_type = click.Path(path_type=Path, file_okay=False)

_verbosity_options = (
    click.option(
        "--quiet",
        "-q",
        is_flag=True,
        expose_value=False,
        callback=_set_verbosity,
        help="Print only errors on stderr, without progress and messages.",
    ),
    click.option(
        "--verbose",
        "-v",
        is_flag=True,
        expose_value=False,
        callback=_set_verbosity,
        help="Print which configuration file and data folder are used, and tracebacks of unexpected errors.",
    ),
)


def general_options(command: _Command) -> _Command:
    """Add ``--home``, ``-q``, ``-v`` and ``--version`` to the group of all commands."""
    home = click.option(
        "--home",
        type=_home_type,
        default=platform_folder,
        expose_value=False,
        callback=_set_home,
        help="Folder of corpora, indexes, weights and results.  [default: SHRAG_HOME, else that of the nearest "
        "shrag.toml, else the platform's data folder]",
    )
    return home(_with_verbosity(version_option(command)))


def server_general_options(command: _Command) -> _Command:
    """Add the same options to ``serve``, which is also a program of its own: ``shrag-serve --home DIR``."""
    home = click.option(
        "--home",
        type=_home_type,
        expose_value=False,
        envvar="SHRAG_HOME",
        allow_from_autoenv=False,
        callback=_set_server_home,
        help="Folder of corpora, indexes, weights and results; the same as `shrag --home`.",
    )
    return home(_with_verbosity(version_option(command)))


def _with_verbosity(command: _Command) -> _Command:
    for option in reversed(_verbosity_options):
        command = option(command)
    return command


def print_folders(ctx: click.Context) -> None:
    """Print the configuration file and the data folder in use, if ``-v`` is given."""
    if verbosity.get() is Verbosity.VERBOSE:
        home: Home = ctx.obj
        echo(Text("configuration: {path}", path=find_config() or Text("none")), err=True)
        echo(Text("data folder: {path}", path=home.path), err=True)
