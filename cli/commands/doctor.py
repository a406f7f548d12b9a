"""``shrag doctor``: check the installation, the machine, the data and what may leave the machine."""

from __future__ import annotations

import json
import os

import click

from shrag.cli.doctor.connections import check_connections, check_language_model
from shrag.cli.doctor.data import check_corpora, check_home, check_indexes, check_models
from shrag.cli.doctor.installation import check_parts
from shrag.cli.doctor.machine import check_machine
from shrag.cli.options.engine import configured_engine
from shrag.cli.options.model import llm_settings
from shrag.cli.output import echo, json_option, padded, shown
from shrag.cli.settings import Home
from shrag.messages.text import Text

_MARKS = {"ok": ("ok", "green"), "warning": ("WARN", "yellow"), "failure": ("FAIL", "red")}


@click.command()
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Check the installation, the machine, indexes and models, and say how to fix problems.

    Each line is ok, a warning or a failure; a way to repair it follows. The checks cover Python, packages and
    their files, Java, Kiwi, disk, memory, GPU, clock, permissions, corpora, indexes, weights, the language model, and
    settings that connect to other machines.

    The exit status is 6 if a required part is missing, 4 if an index is damaged, 3 if a corpus is damaged, 2 if the
    data folder cannot be written to, and else 0: a warning alone does not change it.
    """
    home: Home = ctx.obj
    settings = llm_settings()
    results = [
        *check_parts(),
        *check_machine(home),
        *check_home(home),
        *check_corpora(home.corpora),
        *check_indexes(home.indexes),
        *check_models(home.weights),
        check_language_model(settings),
        *check_connections(settings, os.environ, configured_engine(os.environ)),
    ]
    for result in results:
        if as_json:
            echo(json.dumps(result._asdict(), ensure_ascii=False))
            continue
        mark, colour = _MARKS[result.status]
        click.secho(f"{mark:>4}", fg=colour, nl=False)
        echo(f"  {padded(result.check, 22)} {shown(result.message)}")
        if result.repair:
            echo(f"{'':<29} {shown(Text('Repair: {how}.', how=result.repair))}")
    ctx.exit(max((result.exit_status for result in results), default=0))
