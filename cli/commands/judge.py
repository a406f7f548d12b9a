"""``shrag judge``: have the configured language model judge the answers of a results folder."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shrag.cli.options.model import llm_settings, open_language_model
from shrag.cli.output import echo, progress
from shrag.cli.settings import Home
from shrag.messages.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable

    from shrag.evaluation.reports.result_folder import ResultFolder
    from shrag.evaluation.statistics.intervals import Interval
    from shrag.models.language_model import LanguageModel


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--records", is_flag=True, help="Judge the records that steps were solved from, instead of the answers.")
@click.option(
    "--sample",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="With --records: pairs of a step and a record to judge of each set and condition; 0 judges all.",
)
@click.pass_obj
def command(home: Home, run: Path, records: bool, sample: int) -> None:
    """Have the configured language model judge the answers of RUN, a results folder or its name under runs.

    Relevance and the overall assessment are from 1 to 10, answerability and validity are shares, each with its 95 %
    interval; each line has the judge's name. Scores are stored in the folder (judgements.jsonl), and each answer is
    judged once. They are a model's opinion: compare them with people's by shrag agreement.

    With --records, the shares of the records that are not, superficially, partially and fully relevant to their step
    (relevance.jsonl).

    Example: SHRAG_LLM_URL=http://127.0.0.1:8000/v1 shrag judge shrag-challenge
    """
    from shrag.evaluation.reports.result_folder import lock_results, open_results

    folder = home.find_run(run)
    results, _ = open_results(folder)
    model = open_language_model(llm_settings())
    if model is None:
        raise click.UsageError(Text("No language model is configured: set [llm] url or SHRAG_LLM_URL."))
    with closing(model), lock_results(folder), progress() as report:
        if records:
            _judge_records(home, results, model, sample, report)
        else:
            _judge_answers(results, model, report)


def _judge_answers(results: ResultFolder, model: LanguageModel, report: Callable[[str, int], None]) -> None:
    from shrag.evaluation.judging.judged_results import judge_results

    conditions = judge_results(results, model, report)
    echo("\t".join("set condition judge scored unscored refused relevance answerability overall valid".split()))
    for each in conditions:
        summary = each.summary
        counts = (str(count) for count in (summary.scored, summary.unscored, each.refused))
        means = (_mean(mean) for mean in (summary.relevance, summary.answerability, summary.overall, summary.valid))
        echo("\t".join([each.set, each.condition, summary.judge, *counts, *means]))


def _judge_records(
    home: Home, results: ResultFolder, model: LanguageModel, sample: int, report: Callable[[str, int], None]
) -> None:
    from shrag.evaluation.experiments.engines import OpenIndexes
    from shrag.evaluation.judging.judged_records import judge_records
    from shrag.evaluation.judging.record_relevance import RELEVANCE_FIGURES

    with OpenIndexes(home.indexes) as indexes:
        found = judge_records(results, indexes.under, model, sample, report)
    echo("\t".join(("set", "condition", "judge", "scored", "unscored", *RELEVANCE_FIGURES)))
    for each in found:
        shares = (_mean(each.shares.get(name)) for name in RELEVANCE_FIGURES)
        echo("\t".join([each.set, each.condition, each.judge, str(each.scored), str(each.unscored), *shares]))


def _mean(mean: tuple[float, Interval] | None) -> str:
    return f"{mean[0]:.3f} [{mean[1].low:.3f}, {mean[1].high:.3f}]" if mean else "–"
