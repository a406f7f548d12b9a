"""``shrag init``: write a configuration file and add the demonstration corpus."""

from __future__ import annotations

import json
from pathlib import Path

import click
from click.core import ParameterSource

from shrag.cli.output import echo
from shrag.cli.settings import Home
from shrag.corpora.data_folder import CONFIG_FILE, home_of
from shrag.messages.text import Text

_NAMED = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
_TEMPLATE = Path(__file__).with_name("init.toml")


@click.command()
@click.pass_context
def command(ctx: click.Context) -> None:
    """Write a commented shrag.toml here, and add the demonstration corpus. What is there already stays as it is.

    The data folder for this folder and the folders in it is then var, unless the file names another one.

    Example: shrag init && shrag index demo
    """
    from shrag.corpora.files import write_atomically
    from shrag.corpora.ingest.demonstration import DEMO, add_demonstration, is_added

    config = Path(CONFIG_FILE).absolute()
    home: Home = ctx.obj
    if config.exists():
        echo(Text("{config} exists already and is not changed.", config=config), err=True)
    else:
        named = ctx.find_root().get_parameter_source("home") in _NAMED
        text = _TEMPLATE.read_text(encoding="utf-8")
        if named:
            text = text.replace('# home = "var"', f"home = {json.dumps(str(home.path), ensure_ascii=False)}")
        write_atomically(config, text.encode())
        echo(Text("wrote {config}", config=config))
        if not named:
            home = Home(home_of(config, {}))
    if is_added(home.corpora):
        echo(
            Text("The corpus {name} is already in {folder} and is not changed.", name=DEMO, folder=home.corpora),
            err=True,
        )
    else:
        added = add_demonstration(home.corpora)
        echo(
            Text(
                "corpus {name}: {records:,} records in {folder}",
                name=DEMO,
                records=added.manifest.records,
                folder=home.corpora,
            )
        )
    echo(Text("next: shrag index {name}", name=DEMO), err=True)
