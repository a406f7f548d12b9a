"""``shrag report``: folders of results as one HTML page."""

from __future__ import annotations

from pathlib import Path

import click

from shrag.cli.settings import Home


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The page to write.  [default: report.html in the first RUN]",
)
@click.option(
    "--questions",
    type=click.IntRange(0),
    default=100,
    show_default=True,
    help="Questions of each set whose way is shown, those that differ most.",
)
@click.pass_obj
def command(home: Home, runs: tuple[Path, ...], output: Path | None, questions: int) -> None:
    """Write one HTML page of the results in RUN..., folders or names of folders under runs.

    It has tables, plots, cards and each question's way, needs no other file and asks no address for anything.

    Example: shrag report demo --output demo.html
    """
    from shrag.corpora.durable import replace_durably
    from shrag.evaluation.report import render_report

    folders = [run if run.is_dir() else home.path / "runs" / run for run in runs]
    page = render_report(folders, questions=questions)
    path = output or folders[0] / "report.html"
    replace_durably(path, page.encode())
    click.echo(path)
