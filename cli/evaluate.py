"""``shrag evaluate``: measures of runs against judgements."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--qrels", required=True, type=click.Path(path_type=Path), help="Judgements: TREC's, or BEIR's TSV.")
@click.option("--run", "runs", required=True, multiple=True, type=click.Path(path_type=Path), help="A run; repeatable.")
@click.option("--measures", default="nDCG@10 R@100 Success@1 Success@10", show_default=True, help="ir-measures names.")
def command(qrels: Path, runs: tuple[Path, ...], measures: str) -> None:
    """Judge runs: a line for each, a column for each measure, separated by tabs.

    Example: shrag evaluate --qrels corpora/demo/qrels.txt --run demo.run
    """
    from shrag.corpora.topics import read_qrels
    from shrag.evaluation.measures import evaluate
    from shrag.evaluation.runs import read_run

    names = measures.split()
    judged = read_qrels(qrels)
    click.echo("\t".join(["run", *names]))
    for path in runs:
        means = evaluate(judged, read_run(path), names)
        click.echo("\t".join([str(path), *(f"{means[name]:.4f}" for name in names)]))
