"""``shrag experiment``: run an experiment and write its results folder."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shrag.cli.options.model import llm_settings, no_model_option
from shrag.cli.output import echo, progress
from shrag.cli.settings import Home

if TYPE_CHECKING:
    from shrag.evaluation.experiments.engines import ModelChoice
    from shrag.models.chat.settings import LlmSettings


@click.command()
@click.argument("experiment", required=False)
@click.option("--list", "listed", is_flag=True, help="List the experiments that come with SHRAG.")
@click.option(
    "--papers",
    is_flag=True,
    help="Print the tables and figures of the papers, with the command that repeats each (docs/reproduction.md).",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=Path("data"),
    show_default=True,
    envvar="SHRAG_DATA",
    help="Folder that the experiment's paths are relative to (SHRAG_DATA).",
)
@click.option(
    "--output", type=click.Path(path_type=Path, file_okay=False), help="The results folder.  [default: runs/NAME]"
)
@click.option("--resume", is_flag=True, help="Continue the results in the folder; no question is asked again.")
@click.option("--sets", default="", metavar="NAME,…", help="Run these sets only.")
@click.option("--conditions", default="", metavar="NAME,…", help="Run these conditions and the baseline only.")
@click.option("--sample", type=click.IntRange(1), help="Number of questions of each set, instead of the experiment's.")
@click.option(
    "--threads", type=click.IntRange(0), default=0, help="Questions asked at once; 0 is one for each core, 4 at most."
)
@click.option(
    "--encoder",
    "encoders",
    multiple=True,
    metavar="NAME=FOLDER",
    help="Use the encoder in this folder for the experiment's encoder NAME; repeatable.",
)
@click.option("--no-plots", is_flag=True, help="Draw no plots, so that matplotlib is not needed.")
@no_model_option
@click.pass_obj
def command(
    home: Home,
    experiment: str | None,
    listed: bool,
    papers: bool,
    data: Path,
    output: Path | None,
    resume: bool,
    sets: str,
    conditions: str,
    sample: int | None,
    threads: int,
    encoders: tuple[str, ...],
    no_plots: bool,
    no_model: bool,
) -> None:
    """Run the EXPERIMENT, a TOML file or the name of one that comes with SHRAG, and write its results.

    The table is also printed. After Ctrl-C or a crash, --resume continues; only questions in progress are lost.

    Example: shrag experiment demo
    """
    from shrag.evaluation.experiments.spec_file import (
        find_experiment,
        narrow_experiment,
        read_experiment,
        replace_encoders,
    )

    if listed:
        _list()
        return
    if papers:
        from shrag.evaluation.experiments.papers import papers_page

        echo(papers_page(), nl=False)
        return
    if experiment is None:
        raise click.UsageError("No experiment is given: name a TOML file or one of --list.")
    from shrag.evaluation.experiment_runner import RunOptions, run_experiment
    from shrag.evaluation.experiments.engines import Folders
    from shrag.evaluation.reports.markdown import table_text

    path = find_experiment(experiment)
    spec = narrow_experiment(read_experiment(path), _names(sets), _names(conditions), sample)
    spec = replace_encoders(spec, _replacements(encoders))
    folder = output or home.runs / path.stem
    with progress() as report:
        options = RunOptions(
            resume=resume,
            threads=threads,
            plots=not no_plots,
            command=("shrag", *sys.argv[1:]),
            report=report,
            log=lambda line: echo(line, err=True),
        )
        folders = Folders(home.corpora, home.indexes, data, report)
        result = run_experiment(spec, folder, folders, None if no_model else _model(llm_settings()), options)
    echo(table_text(result.table), nl=False)
    echo(
        f"{folder}: {result.questions_asked:,} questions asked; next: shrag report {shlex.quote(str(folder))}", err=True
    )


def _list() -> None:
    from shrag.evaluation.experiments.spec_file import built_in_experiments, read_experiment

    for name, path in built_in_experiments().items():
        echo(f"{name}\t{read_experiment(path).title}")


def _names(given: str) -> list[str]:
    return [name for name in given.replace(",", " ").split() if name]


def _replacements(given: tuple[str, ...]) -> dict[str, str]:
    """Return NAME → FOLDER of the options --encoder."""
    pairs = [each.partition("=") for each in given]
    for name, _, folder in pairs:
        if not name or not Path(folder).is_dir():
            raise click.UsageError(f"--encoder {name}={folder} does not name a folder: write NAME=FOLDER.")
    return {name: folder for name, _, folder in pairs}


def _model(settings: LlmSettings) -> ModelChoice | None:
    """Return the configured language model, to be opened with any seed; None where none is configured."""
    if not settings.url:
        return None
    from collections.abc import Iterator
    from contextlib import closing, contextmanager

    import msgspec

    from shrag.cli.options.model import open_language_model
    from shrag.evaluation.experiments.engines import ModelChoice
    from shrag.models.language_model import LanguageModel

    @contextmanager
    def opened(seed: int) -> Iterator[LanguageModel]:
        model = open_language_model(msgspec.structs.replace(settings, seed=seed))
        if model is None:
            raise click.UsageError("The language model has no URL: set [llm] url.")
        with closing(model):
            yield model

    with opened(settings.seed) as model:
        return ModelChoice(model.name, settings.fingerprint, opened)
