"""``shrag doctor``: what is here, what is missing, what would not fit."""

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
    """Say what is here, what is missing, and how to mend it.

    Exit status 6 where a needed part is missing, 4 where an index is damaged, else 0.
    """
    home: Home = ctx.obj
    findings = [
        *check_parts(),
        *check_machine(home.path),
        *check_indexes(home.indexes),
        *check_models(home.weights),
        *check_language_model(llm_settings()),
    ]
    for finding in findings:
        if as_json:
            click.echo(json.dumps(finding._asdict(), ensure_ascii=False))
        else:
            mark, colour = _MARKS[finding.status]
            click.echo(f"{click.style(f'{mark:>4}', fg=colour)}  {finding.what:<20} {finding.says}")
    ctx.exit(max((finding.exit_status for finding in findings), default=0))
