"""``shrag init``: write a configuration file and add the demonstration corpus."""

from __future__ import annotations

import json
from pathlib import Path

import click
from click.core import ParameterSource

from shrag.cli.output import echo
from shrag.cli.settings import Home
from shrag.corpora.data_folder import CONFIG_FILE, home_of

_NAMED = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
_TEMPLATE = Path(__file__).with_name("init.toml")


@click.command()
@click.pass_context
def command(ctx: click.Context) -> None:
    """Write a commented shrag.toml here, and add the demonstration corpus. What is there already stays as it is.

    The data folder of this folder and those in it is then var, unless the file is given another.

    Example: shrag init && shrag index demo
    """
    from shrag.corpora.files import write_atomically
    from shrag.corpora.ingest.demonstration import DEMO, add_demonstration, is_added

    config = Path(CONFIG_FILE).absolute()
    home: Home = ctx.obj
    if config.exists():
        echo(f"{config} is there already and stays as it is.", err=True)
    else:
        named = ctx.find_root().get_parameter_source("home") in _NAMED
        text = _TEMPLATE.read_text(encoding="utf-8")
        if named:
            text = text.replace('# home = "var"', f"home = {json.dumps(str(home.path), ensure_ascii=False)}")
        write_atomically(config, text.encode())
        echo(f"wrote {config}")
        if not named:
            home = Home(home_of(config, {}))
    if is_added(home.corpora):
        echo(f"The corpus {DEMO} is in {home.corpora} already and stays as it is.", err=True)
    else:
        added = add_demonstration(home.corpora)
        echo(f"corpus {DEMO}: {added.manifest.records:,} records in {home.corpora}")
    echo(f"next: shrag index {DEMO}", err=True)
