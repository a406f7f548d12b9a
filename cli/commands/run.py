"""``shrag run``: a TREC run of a strategy's ranking over a topics file."""

from __future__ import annotations

from pathlib import Path

import click

from shrag.cli.options.model import configured_model, no_model_option
from shrag.cli.options.search import strategy_option
from shrag.cli.output import progress
from shrag.cli.settings import Home, keyword_order_option, read_settings, reranker_options, set_option, verify_option
from shrag.indexing.storage.checksums import Verify
from shrag.serving.engine import LARGEST_K, open_engine
from shrag.serving.events import KeywordOrder


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
@strategy_option
@keyword_order_option
@set_option
@reranker_options
@no_model_option
@verify_option
@click.pass_obj
def command(
    home: Home,
    name: str,
    topics: Path,
    output: Path,
    k: int,
    strategy: str,
    keyword_order: KeywordOrder | None,
    settings: tuple[str, ...],
    reranker: str,
    min_score: float | None,
    no_model: bool,
    verify: Verify,
) -> None:
    """Ask the index NAME every topic and write the ranking as a TREC run.

    Example: shrag run demo --topics corpora/demo/topics.tsv --output demo.run
    """
    from shrag.corpora.formats.topics import read_topics
    from shrag.evaluation.questions.batch import write_run

    varied = read_settings(settings)
    asked = read_topics(topics)
    model = configured_model(no_model=no_model)
    engine = open_engine(home.indexes, name, verify=verify, model=model, reranker=reranker, min_score=min_score)
    with progress(len(asked)) as report:
        written = write_run(
            engine,
            asked,
            output,
            k=k,
            strategy=strategy,
            keyword_order=keyword_order,
            settings=varied,
            report=report,
        )
    click.echo(f"{output}: {len(asked):,} topics, {written.empty:,} of them without a record", err=True)
    if written.fallbacks:
        click.echo(f"The language model failed for {written.fallbacks:,} of them, ranked without it.", err=True)
