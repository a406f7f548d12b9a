"""``shrag corpus remove`` and ``undo``."""

from __future__ import annotations

import click

from shrag.cli.commands.corpus.counts import deleted_text, print_changes, print_counts
from shrag.cli.options.names import corpus_argument
from shrag.cli.output import ask_before_deleting, echo, yes_option
from shrag.cli.settings import Home
from shrag.messages.text import Text


@click.command()
@corpus_argument()
@yes_option
@click.pass_obj
def remove(home: Home, name: str, yes: bool) -> None:
    """Delete the corpus NAME with its earlier version, after asking for confirmation. An index built from it stays.

    Example: shrag corpus remove lib
    """
    from shrag.corpora.store.versions import remove_corpus, stored_size

    deleted = deleted_text(stored_size(home.corpora, name))
    ask_before_deleting(Text("This deletes corpus {name}: {deleted}", name=name, deleted=deleted), yes=yes)
    remove_corpus(home.corpora, name)
    echo(Text("corpus {name}: removed", name=name))
    if (home.indexes / name).exists():
        echo(
            Text("Its index stays and can be searched; to delete it too: shrag index remove {name}", name=name),
            err=True,
        )


@click.command()
@corpus_argument()
@click.pass_obj
def undo(home: Home, name: str) -> None:
    """Return the corpus NAME to the version before the last addition or replacement. Run again, it takes that back.

    Example: shrag corpus undo lib
    """
    from shrag.corpora.store.versions import undo_change

    manifest, changes = undo_change(home.corpora, name)
    print_counts(manifest)
    if changes is None:
        echo(Text("The version that was undone is damaged, so its records could not be compared."), err=True)
    else:
        print_changes(changes)
    echo(Text("next: shrag index {name}", name=name), err=True)
