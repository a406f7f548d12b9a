"""``shrag key``, and the options by which a server's API key and names are given."""

from __future__ import annotations

import os
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any, TypeVar

import click

from shrag.serving.http.api_key import ApiKey, new_key, read_key_file, write_key_file

VARIABLE = "SHRAG_API_KEY"
_CREDENTIALS = "CREDENTIALS_DIRECTORY"

_Command = TypeVar("_Command", bound=Callable[..., Any])


def access_options(command: _Command) -> _Command:
    """Give a command that serves the options ``--api-key-file`` and ``--allow-host``."""
    key_file = click.option(
        "--api-key-file",
        type=click.Path(path_type=Path, dir_okay=False),
        help=f"A file with the key that requests need, readable by its owner only; or {VARIABLE}.",
    )
    names = click.option(
        "--allow-host",
        "names_allowed",
        multiple=True,
        metavar="NAME",
        help="Another name or address that clients reach this server by; repeat it for more.",
    )
    return key_file(names(command))


def chosen_key(file: Path | None, environment: MutableMapping[str, str] | None = None) -> ApiKey | None:
    """Return the key in ``file`` or in ``SHRAG_API_KEY``, which is taken out of the environment; None without either.

    Raises ``click.UsageError`` for both, and :class:`~shrag.serving.errors.KeyRejected`.
    """
    environment = os.environ if environment is None else environment
    # What this process starts, a model's server for one, has no business with the key.
    given = environment.pop(VARIABLE, None)
    if file is None:
        return None if given is None else ApiKey(given)
    if given is not None:
        raise click.UsageError(f"The API key is given twice, by {VARIABLE} and by --api-key-file: give it once.")
    credentials = environment.get(_CREDENTIALS)
    return read_key_file(file, Path(credentials) if credentials else None)


@click.command()
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="A new file for it, for its owner only."
)
def command(output: Path | None) -> None:
    """Make an API key for `shrag-serve` and `shrag mcp --http`: 256 random bits, printed once and kept nowhere.

    Example: shrag key --output api-key && shrag-serve --host 192.0.2.7 --api-key-file api-key
    """
    key = new_key()
    if output is None:
        click.echo(key)
    else:
        write_key_file(output, key)
        click.echo(f"The key is in {output}, which only its owner may read.", err=True)
