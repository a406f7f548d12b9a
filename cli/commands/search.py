"""``shrag search``: find records for a question."""

from __future__ import annotations

from typing import get_args

import click

from shrag.cli.options.filter import (
    counts_hits,
    facets_option,
    filter_options,
    print_authors,
    print_facets,
    print_undated,
)
from shrag.cli.options.names import index_argument
from shrag.cli.options.search import SearchOptions, read_settings, search_options, set_option
from shrag.cli.output import echo, json_option, language, print_json
from shrag.cli.settings import Home
from shrag.indexing.record_filter import RecordFilter
from shrag.messages.text import Text
from shrag.serving.events import Keywords, Ranking
from shrag.serving.references.formats import ReferenceFormat
from shrag.serving.request import DEFAULT_K, LARGEST_K, shows_language
from shrag.serving.results import SearchResult


@click.command()
@index_argument()
@click.argument("question")
@click.option(
    "-k",
    type=click.IntRange(1, LARGEST_K),
    default=DEFAULT_K,
    show_default=True,
    help="Maximum number of records to return.",
)
@click.option(
    "--offset",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Number of ranks to skip. For the next page, give the rank of the last record of this page.",
)
@search_options
@filter_options
@facets_option
@set_option
@click.option(
    "--export",
    "form",
    type=click.Choice(get_args(ReferenceFormat)),
    help="Print the records as references: BibTeX, RIS, CSL-JSON or CSV.",
)
@json_option
@click.option(
    "--summary",
    is_flag=True,
    help="With --json, print a last line on the whole search: the confidence that the best record answers, why nothing "
    "was found, and the words that no record has.",
)
@click.pass_obj
def command(
    home: Home,
    name: str,
    question: str,
    k: int,
    offset: int,
    settings: tuple[str, ...],
    form: ReferenceFormat | None,
    as_json: bool,
    summary: bool,
    options: SearchOptions,
    record_filter: RecordFilter,
    facets: bool,
) -> None:
    """Find records in the index NAME for QUESTION, Korean or English.

    Example: shrag search demo "그래핀 전자파 차폐" -k 3 --year 2015- --language ko
    """
    if summary and not as_json:
        raise click.UsageError(Text("--summary is a line of JSON: add --json."))
    search_settings = read_settings(settings)
    result = options.open_engine(home, name, question).search(
        question, k=k, strategy=options.strategy, keyword_order=options.keyword_order, settings=search_settings,
        record_filter=record_filter, facets=facets or counts_hits(record_filter, options.engine), offset=offset,
    )  # fmt: skip
    print_undated(record_filter, result.facets)
    reader = result.question.language if shows_language(result.question.text) else language.get()
    print_authors(result.authors, reader)
    message = result.message_in(reader)
    _print_notes(result.keywords, message)
    if form is not None:
        if result.ranking.records:
            echo(result.references(form).replace("\r\n", "\n").rstrip("\n"))  # carriage returns would be escaped
        return
    if as_json:
        print_json_records(result.ranking)
        if facets:
            print_json(result.facets)
        if summary:
            print_json(summary_of(result, message))
        return
    print_records(result.ranking)
    if facets and result.facets is not None:
        print_facets(result.facets)


def print_records(ranking: Ranking) -> None:
    """Print two lines for each record, and a third with the docids of its duplicates."""
    for ranked in ranking.records:
        record = ranked.record
        about = " · ".join(part for part in (record.language, str(record.year or ""), record.journal) if part)
        echo(f"{ranked.rank:>3}  {ranked.score:7.3f}  {record.docid}  {about}")
        echo(f"     {record.title or record.text[:80]}")
        if ranked.duplicates:
            echo(Text("     also as {duplicates}", duplicates=", ".join(ranked.duplicates)))


def _print_notes(keywords: Keywords, message: str) -> None:
    if message:
        echo(message, err=True)
    elif keywords.unknown:
        echo(Text("No record has these words: {words}", words=", ".join(keywords.unknown)), err=True)
    if keywords.excluded:
        echo(Text("Left out are records with: {phrases}", phrases=", ".join(keywords.excluded)), err=True)


def summary_of(result: SearchResult, message: str) -> dict[str, object]:
    """Return the fields of the HTTP response to a search, except its records, by the same names."""
    ranking = result.ranking
    return {
        "confidence": ranking.confidence,
        "reason": ranking.reason,
        "message": message,
        "unknown_words": result.keywords.unknown,
    }


def print_json_records(ranking: Ranking) -> None:
    """Print the records as JSON, one per line."""
    for ranked in ranking.records:
        print_json(ranked)
