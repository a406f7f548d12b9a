"""``shrag doctor``: check the installation, the machine, indexes and models."""

from __future__ import annotations

import json

import click

from shrag.cli.doctor_checks import check_indexes, check_language_model, check_machine, check_models, check_parts
from shrag.cli.options.model import llm_settings
from shrag.cli.output import json_option
from shrag.cli.settings import Home

_MARKS = {"ok": ("ok", "green"), "note": ("--", "yellow"), "fail": ("FAIL", "red")}


@click.command()
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Check the installation, the machine, indexes and models, and say how to fix problems.

    Exit status 6 if a required part is missing, 4 if an index is damaged, else 0.
    """
    home: Home = ctx.obj
    results = [
        *check_parts(),
        *check_machine(home.path),
        *check_indexes(home.indexes),
        *check_models(home.weights),
        *check_language_model(llm_settings()),
    ]
    for result in results:
        if as_json:
            click.echo(json.dumps(result._asdict(), ensure_ascii=False))
        else:
            mark, colour = _MARKS[result.status]
            click.echo(f"{click.style(f'{mark:>4}', fg=colour)}  {result.check:<20} {result.message}")
    ctx.exit(max((result.exit_status for result in results), default=0))
