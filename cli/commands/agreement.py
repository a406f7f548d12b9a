"""``shrag agreement``: inter-annotator agreement on labels or scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from shrag.cli.options.judging import level_option
from shrag.cli.output import echo, json_option, print_json
from shrag.messages.text import Text

if TYPE_CHECKING:
    from shrag.evaluation.statistics.agreement import Correlation


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--metrics",
    type=click.Path(path_type=Path),
    help="Instead, correlate a judge's metrics with the annotators' majority: judgements.jsonl, or a table with item.",
)
@click.option("--condition", default="", help="The condition of judgements.jsonl, as NAME or SET/NAME.")
@level_option
@json_option
def command(file: Path, metrics: Path | None, condition: str, level: float, as_json: bool) -> None:
    """Compute the agreement of the annotators of FILE.

    FILE is a table with a header, or JSON Lines: item, annotator, and label or score. For labels: Krippendorff's alpha,
    Fleiss' kappa with its two parts (PA and PE), and Cohen's kappa of each pair of annotators. For scores: alpha, and
    the correlations of Pearson, Spearman and Kendall of each pair. Each figure has its interval and number of items.

    With --metrics, labels are true or false, and each metric's correlations with their majority are printed.

    Example: shrag agreement annotations.tsv --metrics var/runs/toq-table-2/judgements.jsonl --condition tree
    """
    if metrics is not None:
        _print_correlations(file, metrics, condition, level, as_json)
        return
    from shrag.evaluation.statistics.agreement import agreement
    from shrag.evaluation.statistics.annotations import read_annotations

    statistics = agreement(read_annotations(file), level=level)
    if not as_json:
        echo("statistic\tannotators\titems\tvalue\tlow\thigh")
    for each in statistics:
        if as_json:
            print_json(each._asdict())
            continue
        interval = [f"{end:.4f}" for end in each.interval or ()] or ["", ""]
        value = "undefined" if each.value is None else f"{each.value:.4f}"
        echo("\t".join([each.statistic, ", ".join(each.annotators), str(each.items), value, *interval]))


def _print_correlations(file: Path, metrics: Path, condition: str, level: float, as_json: bool) -> None:
    from shrag.evaluation.judging.metrics import read_metrics
    from shrag.evaluation.statistics.annotations import read_annotations
    from shrag.evaluation.statistics.majority import correlate_with_majority, majority_votes

    majority = majority_votes(read_annotations(file))
    if majority.ties:
        echo(Text("{ties} items have no majority and are left out.", ties=majority.ties), err=True)
    found = correlate_with_majority(majority.verdicts, read_metrics(metrics, condition), level=level)
    if not as_json:
        echo("metric\titems\tpearson\tlow\thigh\tspearman\tlow\thigh")
    for each in found:
        if as_json:
            found_by_name = {"pearson": each.pearson, "spearman": each.spearman}
            correlations = {name: given and given._asdict() for name, given in found_by_name.items()}
            print_json({**each._asdict(), **correlations})
        else:
            echo("\t".join([each.metric, str(each.items), *_cells(each.pearson), *_cells(each.spearman)]))


def _cells(correlation: Correlation | None) -> list[str]:
    if correlation is None:
        return ["undefined", "", ""]
    interval = [f"{end:.4f}" for end in correlation.interval or ()] or ["", ""]
    return [f"{correlation.coefficient:.4f}", *interval]
