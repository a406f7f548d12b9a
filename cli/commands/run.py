"""``shrag run``: write a TREC run of a strategy over a topics file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from shrag.cli.options.filter import filter_options
from shrag.cli.options.names import index_argument
from shrag.cli.options.search import SearchOptions, read_settings, search_options, set_option
from shrag.cli.output import echo, progress
from shrag.cli.settings import Home
from shrag.indexing.record_filter import RecordFilter
from shrag.messages.text import Text
from shrag.serving.request import LARGEST_K


@click.command()
@index_argument()
@click.option(
    "--topics",
    "topic_files",
    required=True,
    multiple=True,
    type=click.Path(path_type=Path),
    help="TSV of qid and question, BEIR's queries.jsonl, or TREC topics; repeatable.",
)
@click.option("--output", required=True, type=click.Path(path_type=Path, dir_okay=False), help="The run file to write.")
@click.option(
    "--outcomes",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the outcome of each question, with its confidence, for `shrag evaluate --outcomes`.",
)
@click.option("--answers", is_flag=True, help="Answer the questions too; the answers are among the outcomes.")
@click.option(
    "-k", type=click.IntRange(1, LARGEST_K), default=100, show_default=True, help="Maximum number of records per topic."
)
@search_options
@filter_options
@set_option
@click.pass_obj
def command(
    home: Home,
    name: str,
    topic_files: tuple[Path, ...],
    output: Path,
    outcomes: Path | None,
    answers: bool,
    k: int,
    settings: tuple[str, ...],
    options: SearchOptions,
    record_filter: RecordFilter,
) -> None:
    """Search the index NAME for every topic and write the ranking as a TREC run.

    Example: shrag run demo --topics corpora/demo/topics.tsv --output demo.run
    """
    from shrag.corpora.formats.topics import read_topics
    from shrag.evaluation.questions.batch import write_run

    if answers and outcomes is None:
        raise click.UsageError(Text("--answers needs --outcomes: a run has no answers."))
    if outcomes is not None and outcomes.resolve() == output.resolve():
        raise click.UsageError(Text("--output and --outcomes name the same file: give each a file of its own."))
    for path in topic_files:
        if path.resolve() in (output.resolve(), outcomes and outcomes.resolve()):
            raise click.UsageError(
                Text("{path} holds the topics and would be overwritten: write to another file.", path=path)
            )
    search_settings = read_settings(settings)
    questions = [topic for path in topic_files for topic in read_topics(path)]
    for qid, count in Counter(topic.qid for topic in questions).items():
        if count > 1:
            raise click.UsageError(
                Text("Two of the topics files have the topic {qid}: rename one of the two.", qid=qid)
            )
    engine = options.open_engine(home, name)
    with progress(len(questions)) as report:
        written = write_run(
            engine,
            questions,
            output,
            k=k,
            strategy=options.strategy,
            keyword_order=options.keyword_order,
            settings=search_settings,
            record_filter=record_filter,
            outcomes=outcomes,
            answered=answers,
            report=report,
        )
    least, most = written.depths
    asked = f"{most:,}" if least == most else Text("{least:,} to {most:,}", least=least, most=most)
    echo(
        Text(
            "{output}: {questions_count:,} topics, {empty:,} of them without a record, {asked} hits of each query",
            output=output,
            questions_count=len(questions),
            empty=written.empty,
            asked=asked,
        ),
        err=True,
    )
    if written.fallbacks:
        echo(
            Text(
                "The language model failed for {fallbacks:,} topics, which were ranked without it.",
                fallbacks=written.fallbacks,
            ),
            err=True,
        )
