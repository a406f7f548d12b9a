"""``shrag judge``: have the configured language model judge the answers of a results folder."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shrag.cli.options.model import llm_settings, open_language_model
from shrag.cli.output import echo, progress
from shrag.cli.settings import Home

if TYPE_CHECKING:
    from shrag.evaluation.statistics.intervals import Interval

_HEADER = (
    "set",
    "condition",
    "judge",
    "scored",
    "unscored",
    "refused",
    "relevance",
    "answerability",
    "overall",
    "valid",
)


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.pass_obj
def command(home: Home, run: Path) -> None:
    """Have the configured language model judge the answers of RUN, a results folder or its name under runs.

    Relevance and the overall assessment are from 1 to 10, answerability and validity are shares, each with its 95 %
    interval; each line has the judge's name. Scores are stored in the folder (judgements.jsonl), and each answer is
    judged once. They are a model's opinion: compare them with people's by shrag agreement.

    Example: SHRAG_LLM_URL=http://127.0.0.1:8000/v1 shrag judge shrag-challenge
    """
    from shrag.evaluation.judging.judged_results import judge_results
    from shrag.evaluation.reports.result_folder import open_results

    folder = home.find_run(run)
    results, _ = open_results(folder)
    model = open_language_model(llm_settings())
    if model is None:
        raise click.UsageError("No language model is configured: set [llm] url or SHRAG_LLM_URL.")
    with closing(model), progress() as report:
        conditions = judge_results(results, model, report)
    echo("\t".join(_HEADER))
    for each in conditions:
        summary = each.summary
        counts = (str(count) for count in (summary.scored, summary.unscored, each.refused))
        means = (_mean(mean) for mean in (summary.relevance, summary.answerability, summary.overall, summary.valid))
        echo("\t".join([each.set, each.condition, summary.judge, *counts, *means]))


def _mean(mean: tuple[float, Interval] | None) -> str:
    return f"{mean[0]:.3f} [{mean[1].low:.3f}, {mean[1].high:.3f}]" if mean else "–"
