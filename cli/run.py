"""``shrag run``: a TREC run of a strategy's ranking over a topics file."""

from __future__ import annotations

from pathlib import Path

import click

from shrag.cli.progress import progress
from shrag.cli.settings import Home, reranker_options, verify_option
from shrag.indexing.seals import Verify
from shrag.serving.engine import DEFAULT_STRATEGY, LARGEST_K, STRATEGIES, open_engine


@click.command()
@click.argument("name")
@click.option(
    "--topics",
    required=True,
    type=click.Path(path_type=Path),
    help="TSV of qid and question, BEIR's queries.jsonl, or TREC topics.",
)
@click.option("--output", required=True, type=click.Path(path_type=Path, dir_okay=False), help="The run file to write.")
@click.option("-k", type=click.IntRange(1, LARGEST_K), default=100, show_default=True, help="Records a topic at most.")
@click.option("--strategy", type=click.Choice(list(STRATEGIES)), default=DEFAULT_STRATEGY, show_default=True)
@reranker_options
@verify_option
@click.pass_obj
def command(
    home: Home,
    name: str,
    topics: Path,
    output: Path,
    k: int,
    strategy: str,
    reranker: str,
    min_score: float | None,
    verify: Verify,
) -> None:
    """Ask the index NAME every topic and write the ranking as a TREC run.

    Example: shrag run demo --topics corpora/demo/topics.tsv --output demo.run
    """
    from shrag.corpora.topics import read_topics
    from shrag.evaluation.batch import write_run

    asked = read_topics(topics)
    engine = open_engine(home.indexes, name, verify=verify, reranker=reranker, min_score=min_score)
    with progress(len(asked)) as report:
        nothing = write_run(engine, asked, output, k=k, strategy=strategy, report=report)
    click.echo(f"{output}: {len(asked):,} topics, {nothing:,} of them without a record", err=True)
