"""``shrag init``: write a configuration file and add the demonstration corpus."""

from __future__ import annotations

from pathlib import Path

import click

from shrag.cli.output import echo
from shrag.cli.settings import CONFIG_FILE, Home

_TEMPLATE = Path(__file__).with_name("init.toml")


@click.command()
@click.pass_obj
def command(home: Home) -> None:
    """Write a commented shrag.toml here, and add the demonstration corpus. What is there already stays as it is.

    Example: shrag init && shrag index demo
    """
    from shrag.corpora.files import write_atomically
    from shrag.corpora.ingest.demonstration import DEMO, add_demonstration, is_added

    config = Path(CONFIG_FILE).absolute()
    if config.exists():
        echo(f"{config} is there already and stays as it is.", err=True)
    else:
        write_atomically(config, _TEMPLATE.read_bytes())
        echo(f"wrote {config}")
    if is_added(home.corpora):
        echo(f"The corpus {DEMO} is in {home.corpora.absolute()} already and stays as it is.", err=True)
    else:
        added = add_demonstration(home.corpora)
        echo(f"corpus {DEMO}: {added.manifest.records:,} records in {home.corpora.absolute()}")
    echo(f"next: shrag index {DEMO}", err=True)
