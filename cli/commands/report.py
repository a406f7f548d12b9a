"""``shrag report``: write results folders as one HTML page or a Markdown document."""

from __future__ import annotations

from pathlib import Path

import click

from shrag.cli.output import echo
from shrag.cli.settings import Home


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write, with --markdown that of the first page.  [default: report.html or results.md in the first "
    "RUN]",
)
@click.option(
    "--markdown", is_flag=True, help="Write a Markdown document with verdicts, tables and run cards, without questions."
)
@click.option(
    "--questions",
    type=click.IntRange(0),
    default=100,
    show_default=True,
    help="Questions of each set shown with their traces: those that differ most between conditions.",
)
@click.pass_obj
def command(home: Home, runs: tuple[Path, ...], output: Path | None, markdown: bool, questions: int) -> None:
    """Write one HTML page of the results in RUN..., folders or names of folders under runs.

    The page has tables, plots, run cards and traces of questions, and needs no other file and no network.
    --markdown writes Markdown for a repository instead: a first page of claims and plots, and beside it, as
    NAME-tables.md, all tables.

    Example: shrag report demo --output demo.html
    """
    from shrag.corpora.files import write_atomically
    from shrag.evaluation.reports.html import render_report
    from shrag.evaluation.reports.markdown import render_document
    from shrag.evaluation.reports.overview import write_overview

    folders = [home.find_run(run) for run in runs]
    path = output or folders[0] / ("results.md" if markdown else "report.html")
    if markdown:
        write_overview(render_document(folders), path)
    else:
        write_atomically(path, render_report(folders, questions=questions).encode())
    echo(path)
