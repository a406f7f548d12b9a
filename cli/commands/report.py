"""``shrag report``: write results folders as one HTML page or a Markdown document."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from shrag.cli.output import echo
from shrag.cli.settings import Home
from shrag.evaluation.errors import ResultsMismatch
from shrag.messages.text import Text

if TYPE_CHECKING:
    from shrag.evaluation.experiments.run_card import RunCard


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
@click.option(
    "--check",
    "archives",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="ARCHIVE",
    help="Write nothing; check whether the run card of RUN (a folder or a card.json) is of the index in this file "
    "of `shrag index export`, or of an index in this bundle; repeatable.",
)
@click.pass_obj
def command(
    home: Home,
    runs: tuple[Path, ...],
    output: Path | None,
    markdown: bool,
    questions: int,
    archives: tuple[Path, ...],
) -> None:
    """Write one HTML page of the results in RUN..., folders or names of folders under runs.

    The page has tables, plots, run cards and traces of questions, and needs no other file and no network.
    --markdown writes Markdown for a repository instead: a first page of claims and plots, and beside it, as
    NAME-tables.md, all tables.

    With --check the run card is compared with the archive that the index was carried in, and with the files beside it;
    exit status 4 where they do not agree.

    Example: shrag report demo --output demo.html
    """
    from shrag.corpora.files import write_atomically
    from shrag.evaluation.reports.html import render_report
    from shrag.evaluation.reports.markdown import render_document
    from shrag.evaluation.reports.overview import write_overview

    folders = [run if run.is_file() else home.find_run(run) for run in runs]
    if archives:
        _check(folders, archives)
        return
    path = output or folders[0] / ("results.md" if markdown else "report.html")
    if markdown:
        write_overview(render_document(folders), path)
    else:
        write_atomically(path, render_report(folders, questions=questions).encode())
    echo(path)


def _check(runs: list[Path], archives: tuple[Path, ...]) -> None:
    """Check that the card of each run agrees with the archives and with the files beside it, and print the results."""
    from shrag.evaluation.experiments.run_card import read_card
    from shrag.evaluation.reports.card_check import check_result_files

    for run in runs:
        card = read_card(run)
        for archive in archives:
            with _index_archives(archive) as found:
                echo(_first_that_agrees(card, found, archive))
        if run.is_dir():
            echo(check_result_files(card, run))


@contextmanager
def _index_archives(archive: Path) -> Iterator[list[Path]]:
    """Yield ``archive`` if it is that of an index, or the archives of the indexes in a bundle."""
    from shrag.bundle.carried_indexes import extract_indexes
    from shrag.corpora.errors import CorpusError
    from shrag.corpora.store.archive import read_header

    try:
        read_header(archive, "bundle")
    except CorpusError:  # not a bundle; if it is no index either, its reader says so
        yield [archive]
        return
    with TemporaryDirectory() as folder:
        yield extract_indexes(archive, Path(folder))


def _first_that_agrees(card: RunCard, archives: list[Path], given: Path) -> Text:
    """Return the message about the first archive that agrees with the card.

    Raises:
        ResultsMismatch: No archive agrees; the message is about the last one.
    """
    from shrag.evaluation.reports.card_check import check_card

    for archive in archives[:-1]:
        with suppress(ResultsMismatch):
            return check_card(card, archive, given)
    return check_card(card, archives[-1], given)
