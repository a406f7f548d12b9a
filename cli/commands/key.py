"""``shrag key``: make an API key."""

from __future__ import annotations

from pathlib import Path

import click

from shrag.cli.output import echo
from shrag.messages.text import Text
from shrag.serving.http.api_key import new_key, write_key_file


@click.command()
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A new file for the key, readable by its owner only.",
)
def command(output: Path | None) -> None:
    """Make an API key for `shrag-serve` and `shrag mcp --http`: 256 random bits, printed once and not stored.

    Example: shrag key --output api-key && shrag-serve --host 192.0.2.7 --api-key-file api-key
    """
    key = new_key()
    if output is None:
        echo(key)
    else:
        write_key_file(output, key)
        echo(Text("The key is in {output}, which only its owner may read.", output=output), err=True)
