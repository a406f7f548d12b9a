"""``shrag search``: records for a question."""

from __future__ import annotations

import click

from shrag.cli.options.model import configured_model, no_model_option
from shrag.cli.options.search import strategy_option
from shrag.cli.output import json_option, print_json
from shrag.cli.settings import Home, keyword_order_option, read_settings, reranker_options, set_option, verify_option
from shrag.indexing.storage.checksums import Verify
from shrag.serving.answering.formats import REASONS
from shrag.serving.engine import DEFAULT_K, LARGEST_K, open_engine
from shrag.serving.events import KeywordOrder, Ranking


@click.command()
@click.argument("name")
@click.argument("question")
@click.option("-k", type=click.IntRange(1, LARGEST_K), default=DEFAULT_K, show_default=True, help="Records at most.")
@strategy_option
@keyword_order_option
@set_option
@json_option
@reranker_options
@no_model_option
@verify_option
@click.pass_obj
def command(
    home: Home,
    name: str,
    question: str,
    k: int,
    strategy: str,
    keyword_order: KeywordOrder | None,
    settings: tuple[str, ...],
    as_json: bool,
    reranker: str,
    min_score: float | None,
    no_model: bool,
    verify: Verify,
) -> None:
    """Find records in the index NAME for QUESTION, Korean or English.

    Example: shrag search demo "그래핀 전자파 차폐" -k 3
    """
    varied = read_settings(settings)
    model = configured_model(no_model=no_model)
    engine = open_engine(home.indexes, name, question, verify, model=model, reranker=reranker, min_score=min_score)
    result = engine.search(question, k=k, strategy=strategy, keyword_order=keyword_order, settings=varied)
    if as_json:
        print_json_records(result.ranking)
    elif result.ranking.reason:
        click.echo(REASONS[result.question.language][result.ranking.reason], err=True)
    else:
        print_records(result.ranking)


def print_records(ranking: Ranking) -> None:
    """Print the records found, two lines each, and a third where the same paper has other records."""
    for ranked in ranking.records:
        record = ranked.record
        about = " · ".join(part for part in (record.language, str(record.year or ""), record.journal) if part)
        click.echo(f"{ranked.rank:>3}  {ranked.score:7.3f}  {record.docid}  {about}")
        click.echo(f"     {record.title or record.text[:80]}")
        if ranked.also:
            click.echo(f"     also as {', '.join(ranked.also)}")


def print_json_records(ranking: Ranking) -> None:
    """Print the records found as JSON, one a line."""
    for ranked in ranking.records:
        print_json(ranked)
