"""``shrag agreement``: inter-annotator agreement on labels or scores."""

from __future__ import annotations

from pathlib import Path

import click

from shrag.cli.options.judging import level_option
from shrag.cli.output import echo, json_option, print_json


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@level_option
@json_option
def command(file: Path, level: float, as_json: bool) -> None:
    """Compute the agreement of the annotators of FILE.

    FILE is a table with a header, or JSON Lines: item, annotator, and label or score. For labels: Krippendorff's alpha,
    Fleiss' kappa, and Cohen's kappa of each pair of annotators. For scores: alpha, and the correlations of Pearson,
    Spearman and Kendall of each pair. Each figure has its interval and number of items.

    Example: shrag agreement judgements.tsv
    """
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
