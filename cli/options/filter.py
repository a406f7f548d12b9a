"""Options that limit which records a search may find, and the messages about them."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Callable
from typing import Any, get_args

import click

from shrag.cli.output import echo
from shrag.corpora.records import Language
from shrag.indexing.record_filter import VALUE_FIELDS, FacetCounts, RecordFilter
from shrag.indexing.search_engine import EngineName
from shrag.messages.text import Text, message_of
from shrag.serving.answering.formats import authors_lines
from shrag.serving.events import Authors
from shrag.serving.request import AnswerLanguage

_YEARS = re.compile(r"(?P<first>\d{1,4})?(?P<dash>\s*[-–]\s*)?(?P<last>\d{1,4})?", re.ASCII)

_OPTIONS = (
    click.option("--year", metavar="YEARS", help="Only records of these years: 2015, 2015-2020, 2015- or -2020."),
    click.option(
        "--language",
        type=click.Choice(get_args(Language)),
        multiple=True,
        help="Only records in this language; repeatable.",
    ),
    click.option("--journal", multiple=True, metavar="NAME", help="Only records of this journal; repeatable."),
    click.option("--type", multiple=True, metavar="TYPE", help="Only records of this type; repeatable."),
    click.option(
        "--author", multiple=True, metavar="NAME", help="Only records by this author, the whole name; repeatable."
    ),
)


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a filter to a command and pass their values as one ``record_filter: RecordFilter``."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - any command's parameters
        first, last = _read_years(kwargs.pop("year"))
        values = {name: tuple(kwargs.pop(name)) for name in VALUE_FIELDS}
        try:
            record_filter = RecordFilter(first, last, **values)
        except ValueError as error:
            raise click.UsageError(message_of(error)) from None
        return command(*args, record_filter=record_filter, **kwargs)

    return functools.reduce(lambda decorated, option: option(decorated), reversed(_OPTIONS), wrapped)


facets_option = click.option(
    "--facets", is_flag=True, help="Also print how many hits there are by year, language, journal, type and author."
)


def counts_hits(record_filter: RecordFilter, engine: EngineName) -> bool:
    """Return whether to count hits for the messages about a filter.

    Only Lucene counts hits. The other engines would have to read each hit.
    """
    return engine == "lucene" and bool(record_filter)


def print_undated(record_filter: RecordFilter, counts: FacetCounts | None) -> None:
    """Print on stderr how many hits ``--year`` leaves out because they have no year."""
    if record_filter.years is not None and counts is not None and counts.undated:
        echo(Text("hits without a year, which --year leaves out: {count:,}", count=counts.undated), err=True)


def print_authors(authors: Authors | None, reader: AnswerLanguage) -> None:
    """Print on stderr the authors that a question names, and the option that selects the records of the first one."""
    if authors is None:
        return
    for line in authors_lines(authors, reader):
        echo(line, err=True)
    if authors.role != "listed" or authors.count > 1:
        option = f"--author {shlex.quote(authors.names[0])}"
        echo(Text("{option} shows only the records of this author.", option=option), err=True)


_FIELD_NAMES = {
    str(name): name for name in (Text("year"), Text("language"), Text("journal"), Text("type"), Text("author"))
}


def print_facets(counts: FacetCounts) -> None:
    """Print how many hits there are, and how many have each value, one value per line."""
    echo(Text("{total:,} hits", total=counts.total))
    for name, values in (("year", counts.year), *((field, counts.values(field)) for field in VALUE_FIELDS)):
        undated = name == "year" and counts.undated
        if values or undated:
            heading = _FIELD_NAMES[name]
            if undated:
                heading = Text("{field}, {count:,} without a year", field=heading, count=counts.undated)
            echo(Text("{heading}:", heading=heading))
            for each in values:
                echo(f"{each.count:>9,}  {each.value}")


def _read_years(given: str | None) -> tuple[int | None, int | None]:
    """Return the first and the last year of a range. A single year is both."""
    if given is None:
        return None, None
    match = _YEARS.fullmatch(given.strip())
    if (
        match is None
        or not (match["first"] or match["last"])
        or (match["first"] and match["last"] and not match["dash"])
    ):
        raise click.UsageError(
            Text("--year {given} is not a range of years: write 2015, 2015-2020, 2015- or -2020.", given=given)
        )
    first, last = (int(match[name]) if match[name] else None for name in ("first", "last"))
    return (first, last) if match["dash"] else (first, first)
