"""``shrag corpus``: reading records in."""

from __future__ import annotations

from pathlib import Path

import click

from shrag.cli.jsonl_keys import chosen_format, jsonl_options
from shrag.cli.progress import progress
from shrag.cli.settings import Home
from shrag.corpora.formats import FORMATS


@click.group()
def command() -> None:
    """Read records into a corpus."""


@command.command()
@click.argument("name")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--format", "format_name", required=True, type=click.Choice(list(FORMATS)), help="How the files are laid out."
)
@click.option(
    "--max-rejects", type=click.IntRange(min=0), default=0, show_default=True, help="Lines that may be no records."
)
@jsonl_options
@click.pass_obj
def add(
    home: Home,
    /,
    name: str,
    paths: tuple[Path, ...],
    format_name: str,
    max_rejects: int,
    **keys: str | tuple[str, ...],
) -> None:
    """Read, clean and check PATHS (files or folders) into the corpus NAME.

    The formats are described in docs/formats.md; any file may be gzip.

    Example: shrag corpus add sci --format scienceon records.jsonl.gz
    """
    from shrag.corpora.addition import add_corpus

    format = chosen_format(format_name, keys)
    with progress() as report:
        manifest = add_corpus(home.corpora, name, format, paths, max_rejects=max_rejects, report=report)
    accounts = manifest.sources
    languages = ", ".join(f"{count:,} {language}" for language, count in manifest.languages.items())
    click.echo(f"corpus {name}: {manifest.records:,} records ({languages}), {manifest.complete:,} complete")
    click.echo(
        f"  {sum(a.lines for a in accounts):,} lines read = {manifest.records:,} records"
        f" + {sum(a.rejected for a in accounts):,} rejected + {sum(a.duplicates for a in accounts):,} duplicates"
        f" + {sum(a.blank for a in accounts):,} blank"
    )
    if any(account.rejected for account in accounts):
        click.echo(f"  rejects: {home.corpora / name / manifest.rejects_file}")
    click.echo(f"next: shrag index {name}", err=True)
