"""``shrag index``: building and publishing an index."""

from __future__ import annotations

import time

import click

from shrag.cli.progress import progress
from shrag.cli.settings import Home


@click.command()
@click.argument("name")
@click.option("--force", is_flag=True, help="Build even where the current index is up to date.")
@click.option("--workers", type=click.IntRange(0), default=0, help="Processes that analyse; 0 is one for each core.")
@click.option(
    "--max-rejected",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Publish with up to this many records left out because they cannot be analysed.",
)
@click.pass_obj
def command(home: Home, name: str, force: bool, workers: int, max_rejected: int) -> None:
    """Index the corpus NAME and publish the result.

    Example: shrag index sci
    """
    from shrag.corpora.store import open_corpus
    from shrag.indexing.build import BuildOptions, build_index

    total = open_corpus(home.corpora, name)[0].records
    started = time.monotonic()
    with progress(total) as report:
        options = BuildOptions(workers, max_rejected, report, lambda sentence: click.echo(sentence, err=True))
        manifest, new = build_index(home.corpora, home.indexes, name, force=force, options=options)
    size = sum(seal.bytes for seal in manifest.files.values()) / 2**20
    done = f"built in {time.monotonic() - started:.1f} s" if new else "up to date, nothing to build"
    click.echo(f"index {name}: generation {manifest.generation}, {manifest.records:,} records, {size:.1f} MiB, {done}")
    if new:
        shares = ", ".join(f"{stage} {share:.0%}" for stage, share in manifest.busy.items())
        click.echo(f"busy: {shares}", err=True)
    if manifest.rejected:
        click.echo(f"{manifest.rejected:,} records were left out: see rejects.jsonl in its folder", err=True)
    click.echo(f'next: shrag ask {name} "…", or shrag-serve {name}', err=True)
