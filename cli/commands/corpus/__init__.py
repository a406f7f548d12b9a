"""``shrag corpus``: add to, replace, undo, remove and carry corpora; show and list them; print rejects."""

from __future__ import annotations

import click

from shrag.cli.commands.corpus.adding import add, replace
from shrag.cli.commands.corpus.removing import remove, undo
from shrag.cli.commands.corpus.showing import list_, rejects, show
from shrag.cli.commands.corpus.transfer import export, import_


@click.group()
def command() -> None:
    """Add records to a corpus, replace, undo and remove; show what it has."""


for _each in (add, replace, remove, undo, export, import_, show, list_, rejects):
    command.add_command(_each)
