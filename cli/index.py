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
    "--dictionary",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Words to keep whole: a TSV of WORD, and if wanted TAG and SCORE. The index keeps them for later builds.",
)
@click.option("--no-dictionary", is_flag=True, help="Build without the words that an earlier --dictionary gave.")
@click.option("--force", is_flag=True, help="Build even where the current index is up to date.")
@click.pass_obj
def command(home: Home, name: str, dictionary: Path | None, no_dictionary: bool, force: bool) -> None:
    """Index the corpus NAME and publish the result.

    Example: shrag index sci --dictionary words.tsv
    """
    if dictionary and no_dictionary:
        raise click.UsageError("--dictionary and --no-dictionary contradict each other: give one of them.")
    from shrag.corpora.store import open_corpus
    from shrag.indexing.build import build_index
    from shrag.indexing.user_dictionary import NO_WORDS, read_dictionary

    words = NO_WORDS if no_dictionary else None
    if dictionary:
        words = read_dictionary(dictionary)
        click.echo(f"dictionary {dictionary}: {len(words.words):,} words", err=True)
    total = open_corpus(home.corpora, name)[0].records
    started = time.monotonic()
    with progress(total) as report:
        manifest, new = build_index(home.corpora, home.indexes, name, dictionary=words, force=force, report=report)
    size = sum(seal.bytes for seal in manifest.files.values()) / 2**20
    done = f"built in {time.monotonic() - started:.1f} s" if new else "up to date, nothing to build"
    click.echo(f"index {name}: generation {manifest.generation}, {manifest.records:,} records, {size:.1f} MiB, {done}")
    click.echo(f'next: shrag ask {name} "…", or shrag-serve {name}', err=True)
