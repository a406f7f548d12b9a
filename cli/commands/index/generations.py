"""``shrag index rollback`` and ``remove``: choose another generation, delete all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from shrag.cli.commands.index.reporting import print_current
from shrag.cli.options.engine import engine_choice_option
from shrag.cli.options.names import index_argument
from shrag.cli.output import ask_before_deleting, echo, yes_option
from shrag.cli.settings import Home
from shrag.messages.text import Text

if TYPE_CHECKING:
    from shrag.indexing.search_engine import EngineChoice


@click.command()
@index_argument()
@click.option(
    "--to", type=click.IntRange(min=1), help="The generation.  [default: the newest intact one before the current]"
)
@engine_choice_option
@click.pass_obj
def rollback(home: Home, name: str, to: int | None, choice: EngineChoice) -> None:
    """Make an earlier generation of the index NAME the current one again.

    Its checksums, format and analyzer are verified first, and that the vector database has it where one is the engine,
    whose alias then points to it. Nothing is deleted, so `--to` can return to a newer one.

    Example: shrag index rollback sci
    """
    from shrag.indexing.maintenance.history import roll_back

    manifest = roll_back(home.indexes, name, to, choice)
    print_current(name, manifest)


@click.command()
@index_argument()
@yes_option
@click.pass_obj
def remove(home: Home, name: str, yes: bool) -> None:
    """Delete the index NAME with all of its generations, after asking for confirmation. Its corpus stays.

    Refused while a build writes it, or a server or another command has it open.

    Example: shrag index remove sci
    """
    from shrag.indexing.maintenance.history import list_index, remove_index

    rows = list_index(home.indexes, name)
    size = sum(row.bytes for row in rows) / 2**20
    ask_before_deleting(
        Text(
            "This deletes index {name}: {rows_count} generations, {size:,.1f} MiB",
            name=name,
            rows_count=len(rows),
            size=size,
        ),
        yes=yes,
    )
    remove_index(home.indexes, name)
    echo(Text("index {name}: removed", name=name))
