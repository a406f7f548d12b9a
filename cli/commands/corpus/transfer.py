"""``shrag corpus export`` and ``import``."""

from __future__ import annotations

from pathlib import Path

import click

from shrag.cli.options.names import corpus_argument
from shrag.cli.output import echo
from shrag.cli.settings import Home
from shrag.messages.text import Text


@click.command()
@corpus_argument()
@click.argument("file", type=click.Path(path_type=Path))
@click.pass_obj
def export(home: Home, name: str, file: Path) -> None:
    """Write the corpus NAME as one FILE, to be carried to another machine.

    Every record is checked. The same corpus gives the same bytes.

    Example: shrag corpus export sci sci-corpus.tar
    """
    from shrag.corpora.store.transfer import export_corpus

    header = export_corpus(home.corpora, name, file)
    echo(Text("corpus {name}: {file}, {bytes:,.1f} MiB", name=name, file=file, bytes=header.total_bytes / 2**20))
    echo(Text("next, on the other machine: shrag corpus import {name}", name=file.name), err=True)


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", default="", help="The corpus's name here.  [default: its name where it was exported]")
@click.option("--replace", is_flag=True, help="Replace a corpus of the name that has other records.")
@click.pass_obj
def import_(home: Home, file: Path, name: str, replace: bool) -> None:
    """Store the corpus in FILE, which `shrag corpus export` wrote.

    Nothing is stored unless all of it is as it was exported. `shrag corpus undo NAME` takes a replacement back.

    Example: shrag corpus import sci-corpus.tar
    """
    from shrag.corpora.store.transfer import import_corpus

    manifest, stored = import_corpus(home.corpora, file, name, replace=replace)
    line = Text("corpus {name}: {records:,} records", name=manifest.name, records=manifest.records)
    echo(line if stored else Text("{line}: nothing to store", line=line))
    echo(Text("next: shrag index {name}", name=manifest.name), err=True)
