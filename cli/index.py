"""``shrag index``: building and publishing an index."""

from __future__ import annotations

import time
from pathlib import Path

import click

from shrag.cli.progress import progress
from shrag.cli.settings import Home


@click.command()
@click.argument("name")
@click.option(
    "--glossary",
    type=click.Path(path_type=Path),
    help="Your corrections to the glossary, lines of Korean, a tab, English; the index keeps them.",
)
@click.option("--force", is_flag=True, help="Build even where the current index is up to date.")
@click.pass_obj
def command(home: Home, name: str, glossary: Path | None, force: bool) -> None:
    """Index the corpus NAME and publish the result.

    Example: shrag index sci
    """
    from shrag.corpora.store import open_corpus
    from shrag.indexing.build import build_index
    from shrag.indexing.glossary_corrections import read_corrections

    corrections = None if glossary is None else read_corrections(glossary)
    total = open_corpus(home.corpora, name)[0].records
    started = time.monotonic()
    with progress(total) as report:
        manifest, new = build_index(
            home.corpora, home.indexes, name, corrections=corrections, force=force, report=report
        )
    size = sum(seal.bytes for seal in manifest.files.values()) / 2**20
    done = f"built in {time.monotonic() - started:.1f} s" if new else "up to date, nothing to build"
    click.echo(f"index {name}: generation {manifest.generation}, {manifest.records:,} records, {size:.1f} MiB, {done}")
    click.echo(f'next: shrag ask {name} "…", or shrag-serve {name}', err=True)
