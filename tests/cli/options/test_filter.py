"""Options of a filter, and what is printed of the hits that it was counted over."""

from __future__ import annotations

from dataclasses import replace

import click
import pytest
from click.testing import CliRunner

from shrag.cli.options.filter import (
    counts_hits,
    facets_option,
    filter_options,
    print_authors,
    print_facets,
    print_undated,
)
from shrag.indexing.record_filter import NO_FACETS, FacetValue, RecordFilter
from shrag.serving.events import Authors


def _given(*arguments: str) -> object:
    """Return the filter and ``--facets`` of a command line, or what is said about it."""
    found: list[object] = []

    @click.command()
    @filter_options
    @facets_option
    def command(record_filter: RecordFilter, facets: bool) -> None:
        found.append((record_filter, facets))

    done = CliRunner().invoke(command, arguments)
    return found[0] if found else done.output.splitlines()[-1]


@pytest.mark.parametrize(
    ("years", "first", "last"),
    [
        ("2015", 2015, 2015),
        (" 2015 ", 2015, 2015),
        ("2015-2020", 2015, 2020),
        ("2015 – 2020", 2015, 2020),
        ("2015-", 2015, None),
        ("-2020", None, 2020),
        ("0-999", 0, 999),
    ],
)
def test_years_are_one_a_range_or_a_range_without_an_end(years: str, first: int | None, last: int | None) -> None:
    assert _given("--year", years) == (RecordFilter(first, last), False)


@pytest.mark.parametrize("years", ["", "-", " – ", "20152020", "2015 2020", "2015-2020-", "20150", "x", "２０１５"])
def test_what_is_no_range_of_years_is_refused_with_the_forms_that_are(years: str) -> None:
    says = f"Error: --year {years} is not a range of years: write 2015, 2015-2020, 2015- or -2020."
    assert _given("--year", years) == says


def test_every_other_option_can_be_repeated_and_none_is_every_record() -> None:
    assert _given() == (RecordFilter(), False)
    repeated = ("--language", "ko", "--language", "en", "--journal", "A", "--journal", "B")
    more = ("--type", "article", "--type", "thesis", "--author", "Kim", "--author", "Lee", "--facets")
    wanted = RecordFilter(language=("ko", "en"), journal=("A", "B"), type=("article", "thesis"), author=("Kim", "Lee"))
    assert _given(*repeated, *more) == (wanted, True)
    assert _given("--year", "2020-2015") == (
        "Error: The filter's years end before they begin (2020 to 2015): exchange the two."
    )


def test_only_lucene_counts_hits_and_only_for_a_filter() -> None:
    some = RecordFilter(language=("ko",))
    assert counts_hits(some, "lucene")
    assert not counts_hits(RecordFilter(), "lucene")
    assert not counts_hits(some, "milvus")


def test_the_option_for_an_author_is_said_unless_only_the_records_of_that_one_are_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_authors(None, "en")
    assert capsys.readouterr() == ("", "")
    option = "--author 'Kim, A' shows only the records of this author."
    for authors, said in (
        (Authors(("Kim, A",), 1, "listed"), False),
        (Authors(("Kim, A", "Kim, B"), 2, "listed"), True),
        (Authors(("Kim, A",), 1, "first"), True),
    ):
        print_authors(authors, "en")
        out, err = capsys.readouterr()
        assert (out, option in err.splitlines()) == ("", said)
        assert err.splitlines()[0].endswith("Kim, A; Kim, B." if authors.count == 2 else "Kim, A.")


def test_hits_without_a_year_are_counted_where_no_hit_has_one(capsys: pytest.CaptureFixture[str]) -> None:
    print_facets(replace(NO_FACETS, total=3, undated=3))
    assert capsys.readouterr().out.splitlines() == ["3 hits", "year, 3 without a year:"]
    print_facets(replace(NO_FACETS, total=3, undated=1, year=(FacetValue("2020", 2),)))
    assert capsys.readouterr().out.splitlines() == ["3 hits", "year, 1 without a year:", "        2  2020"]
    print_facets(replace(NO_FACETS, total=1_200, year=(FacetValue("2020", 1_200),), language=(FacetValue("ko", 1),)))
    assert capsys.readouterr().out.splitlines() == [
        *("1,200 hits", "year:", "    1,200  2020", "language:", "        1  ko"),
    ]


def test_what_a_limit_of_years_leaves_out_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    counts = replace(NO_FACETS, undated=1200)
    print_undated(RecordFilter(year_from=2015), counts)
    assert capsys.readouterr() == ("", "hits without a year, which --year leaves out: 1,200\n")
    print_undated(RecordFilter(language=("ko",)), counts)
    print_undated(RecordFilter(year_from=2015), NO_FACETS)
    print_undated(RecordFilter(year_from=2015), None)
    assert capsys.readouterr() == ("", "")
