"""Options of a filter, and what is printed of the hits that it was counted over."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shrag.cli.options.filter import print_facets, print_undated
from shrag.indexing.record_filter import NO_FACETS, FacetValue, RecordFilter


def test_hits_without_a_year_are_counted_where_no_hit_has_one(capsys: pytest.CaptureFixture[str]) -> None:
    print_facets(replace(NO_FACETS, total=3, undated=3))
    assert capsys.readouterr().out.splitlines() == ["3 hits", "year, 3 without a year:"]
    print_facets(replace(NO_FACETS, total=3, undated=1, year=(FacetValue("2020", 2),)))
    assert capsys.readouterr().out.splitlines() == ["3 hits", "year, 1 without a year:", "        2  2020"]


def test_what_a_limit_of_years_leaves_out_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    counts = replace(NO_FACETS, undated=1200)
    print_undated(RecordFilter(year_from=2015), counts)
    assert capsys.readouterr() == ("", "hits without a year, which --year leaves out: 1,200\n")
    print_undated(RecordFilter(language=("ko",)), counts)
    print_undated(RecordFilter(year_from=2015), NO_FACETS)
    print_undated(RecordFilter(year_from=2015), None)
    assert capsys.readouterr() == ("", "")
