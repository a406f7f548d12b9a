"""Options of the commands that evaluate runs, and the evaluation of their run files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shrag.cli.options.number import NumberRange
from shrag.cli.output import echo
from shrag.messages.text import Text

if TYPE_CHECKING:
    from shrag.evaluation.measures.judge_run import TopicScores

qrels_option = click.option(
    "--qrels", required=True, type=click.Path(path_type=Path), help="Judgements: TREC or MIRACL qrels, or BEIR's TSV."
)
measures_option = click.option(
    "--measures",
    default="nDCG@10 R@100 Success@1 Success@10",
    show_default=True,
    help="Measures by ir-measures' names, and QSR@k, QSR(level='article')@k, EvidenceRecall@k, AllRecall@k.",
)
level_option = click.option(
    "--level",
    type=NumberRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Confidence level of the intervals.",
)


def split_measures(measures: str) -> list[str]:
    """Return the names in ``measures`` without repetition. Raise ``click.UsageError`` if there is none."""
    names = list(dict.fromkeys(measures.split()))
    if not names:
        raise click.UsageError(Text("--measures is empty: give at least one measure, such as nDCG@10."))
    return names


def judge_runs(
    qrels: Path, runs: Sequence[Path], measures: Sequence[str], min_grade: int = 1
) -> dict[str, TopicScores]:
    """Evaluate run files and return path as given → measure → qid → value.

    ``min_grade`` is the least grade that counts as relevant, for measures whose parameter ``rel`` is not set. The
    number of judged topics that a run lacks is printed on stderr.
    """
    from shrag.evaluation.run_evaluation import evaluate_runs

    found = evaluate_runs(qrels, runs, measures, min_grade)
    for run, missing in found.missing.items():
        if missing:
            echo(
                Text(
                    "{run} has no line for {missing:,} of {judged:,} judged topics: they score 0.",
                    run=run,
                    missing=missing,
                    judged=found.judged,
                ),
                err=True,
            )
    return dict(found.topics)
