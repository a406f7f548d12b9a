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
from shrag.messages.text import Text
from shrag.models.errors import ModelUnavailable

if TYPE_CHECKING:
    from shrag.evaluation.experiments.language_models import LanguageModels, ModelChoice
    from shrag.evaluation.experiments.spec import Experiment, LanguageModelSource
    from shrag.models.chat.client import OpenAIModel
    from shrag.models.chat.endpoint_pool import EndpointPool
    from shrag.models.chat.settings import LlmSettings


@click.command()
@click.argument("experiment", required=False)
@click.option("--list", "listed", is_flag=True, help="List the experiments that come with SHRAG.")
@click.option(
    "--papers",
    is_flag=True,
    help="Print the tables and figures of the papers, with the command that repeats each, as "
    "docs/en/explanation/reproduction.md does.",
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
    "--index",
    metavar="NAME",
    help="Ask this index, with the questions and judgements in the folder --data (topics.tsv and qrels.txt, or BEIR's "
    "queries.jsonl and qrels/test.tsv), instead of the experiment's sets.",
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
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME=URL[,MODEL]",
    help="Use the endpoint at URL for the experiment's language model NAME; repeatable.",
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
    index: str | None,
    output: Path | None,
    resume: bool,
    sets: str,
    conditions: str,
    sample: int | None,
    threads: int,
    encoders: tuple[str, ...],
    models: tuple[str, ...],
    no_plots: bool,
    no_model: bool,
) -> None:
    """Run the EXPERIMENT, a TOML file or the name of one that comes with SHRAG, and write its results.

    The table is also printed. After Ctrl-C or a crash, --resume continues; only questions in progress are lost.
    With --index and no EXPERIMENT it is "own": SHRAG against BM25.

    Example: shrag experiment demo
    """
    from shrag.evaluation.experiments.spec_file import (
        ask_own_questions,
        find_experiment,
        narrow_experiment,
        read_experiment,
        replace_encoders,
        replace_models,
    )

    if listed:
        _list()
        return
    if papers:
        from shrag.evaluation.experiments.papers import papers_page

        echo(papers_page(), nl=False)
        return
    if experiment is None and index is None:
        raise click.UsageError(Text("No experiment is given: name a TOML file or one of --list."))
    from shrag.corpora.files import check_name
    from shrag.evaluation.experiment_runner import RunOptions, run_experiment
    from shrag.evaluation.experiments.engines import Folders
    from shrag.evaluation.reports.markdown import table_text

    path = find_experiment(experiment or "own")
    whole = read_experiment(path)
    whole = ask_own_questions(whole, check_name(index), data) if index else whole
    spec = narrow_experiment(whole, _names(sets), _names(conditions), sample)
    spec = replace_models(replace_encoders(spec, _replacements(encoders)), _sources(models))
    folder = output or home.runs / (f"{path.stem}-{index}" if index else path.stem)
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
        result = run_experiment(spec, folder, folders, _language_models(spec, no_model=no_model), options)
    echo(table_text(result.table), nl=False)
    echo(
        Text(
            "{folder}: {questions_asked:,} questions asked; next: shrag report {quoted}",
            folder=folder,
            questions_asked=result.questions_asked,
            quoted=shlex.quote(str(folder)),
        ),
        err=True,
    )


def _list() -> None:
    from shrag.evaluation.experiments.spec_file import built_in_experiments, read_experiment

    for name, path in built_in_experiments().items():
        echo(f"{name}\t{read_experiment(path).title}")


def _names(given: str) -> list[str]:
    return given.replace(",", " ").split()


def _replacements(given: tuple[str, ...]) -> dict[str, str]:
    """Return NAME → FOLDER of the options --encoder."""
    folders: dict[str, str] = {}
    for each in given:
        name, _, folder = each.partition("=")
        if not name or not folder or not Path(folder).is_dir():  # an empty path would be the working folder
            raise click.UsageError(Text("--encoder {option} does not name a folder: write NAME=FOLDER.", option=each))
        folders[name] = folder
    return folders


def _sources(given: tuple[str, ...]) -> list[LanguageModelSource]:
    """Return the language models of the options --model."""
    from shrag.evaluation.experiments.spec import LanguageModelSource

    sources: list[LanguageModelSource] = []
    for each in given:
        name, _, place = each.partition("=")
        url, _, model = place.partition(",")
        if not name or not url:
            raise click.UsageError(
                Text("--model {option} does not name an endpoint: write NAME=URL or NAME=URL,MODEL.", option=each)
            )
        sources.append(LanguageModelSource(name, url, model))
    return sources


def _language_models(experiment: Experiment, *, no_model: bool) -> LanguageModels:
    """Return the configured language model, and the models of the experiment whose endpoints are known.

    With ``no_model`` there is none. Models that no condition and no judgement uses are left out.

    Raises:
        ModelError: A model that is used does not answer, or there is no such model.
    """
    from shrag.evaluation.experiments.language_models import LanguageModels

    if no_model:
        return LanguageModels(ignored=True)
    settings = llm_settings()
    asked = {each.model for each in experiment.conditions if not each.peer}
    named = {
        each.name: _named_settings(settings, each)
        for each in experiment.models
        if each.name in asked and (each.url or (each.model and settings.urls))
    }
    choices = {name: choice for name, each in named.items() if (choice := _model(each)) is not None}
    is_used = not asked.isdisjoint((None, True)) or experiment.judge or experiment.judge_records
    return LanguageModels(_model(settings) if is_used else None, choices)


def _named_settings(settings: LlmSettings, source: LanguageModelSource) -> LlmSettings:
    """Return the settings of one language model of an experiment.

    A model with an address of its own gets no API key, since the key is for the configured endpoint. No server is
    started for it.
    """
    import msgspec

    if not source.url or source.url == settings.url:
        return msgspec.structs.replace(settings, model=source.model or settings.model)
    try:
        return msgspec.structs.replace(
            settings, url=source.url, model=source.model, api_key="", command=[], weights="", flags=[], budget=""
        )
    except ValueError as error:
        raise click.UsageError(
            Text(
                "The language model {name} has the address {url!r}: {error}.",
                name=source.name,
                url=source.url,
                error=error,
            )
        ) from None


def _model(settings: LlmSettings) -> ModelChoice | None:
    """Return the language model of ``settings``, which can be opened with any seed; None without a URL."""
    if not settings.urls:
        return None
    from collections.abc import Iterator
    from contextlib import closing, contextmanager

    import msgspec

    from shrag.cli.options.model import open_language_model
    from shrag.evaluation.experiments.language_models import ModelChoice

    @contextmanager
    def opened(seed: int) -> Iterator[OpenAIModel | EndpointPool]:
        model = open_language_model(msgspec.structs.replace(settings, seed=seed))
        if model is None:
            raise click.UsageError(Text("The language model has no URL: set [llm] url."))
        with closing(model):
            yield model

    with opened(settings.seed) as model:
        try:
            # A name that an endpoint has while it is down would become a part of the results.
            return ModelChoice(_served_name(model), settings.fingerprint, opened)
        except ModelUnavailable as error:
            raise ModelUnavailable(
                Text("{error} Start the model's server, or leave the model out with --no-model.", error=error)
            ) from None


def _served_name(model: OpenAIModel | EndpointPool) -> str:
    """Return the name of the model that the endpoint serves. Raise ``ModelError`` if it does not answer."""
    from shrag.models.chat.client import OpenAIModel

    if isinstance(model, OpenAIModel):
        return model.health().model
    name = model.name  # the first use of a pool checks its endpoints
    if not model.known_name:
        raise ModelUnavailable(model.last_failure)
    return name
