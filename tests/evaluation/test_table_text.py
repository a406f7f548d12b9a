from __future__ import annotations

import pytest

from shrag.evaluation.choice_levels import ChoiceLevels
from shrag.evaluation.result_table import Cell, Difference, ResultTable, Row, SetTable
from shrag.evaluation.table_text import cell_text, counts_text, escape_markdown, table_text

WORSE = Difference(-0.2, -0.3, -0.1, 0.001, 0.002, 0, 1, 9)


def _row(name: str, cell: Cell, errors: int = 0, empty: int = 0, fallbacks: int = 0) -> Row:
    return Row(name, f"<i>{name}</i> | `x`", name, {}, 10, errors, empty, fallbacks, {"RR": cell, "collected": cell})


def test_the_table_has_a_line_for_each_condition_and_nothing_in_it_is_markup() -> None:
    rows = (_row("a", Cell(0.5, 0.4, 0.6, (0.5,))), _row("b", Cell(0.3, 0.2, 0.4, (0.3,), WORSE), 1, 3, 2))
    table = ResultTable("T *x*", "Q\n# no heading?", "paper", "a", ("RR",), ("collected",), (SetTable("s", 10, rows),))
    lines = table_text(table).splitlines()
    assert lines[0] == "# T \\*x\\*"
    assert lines[2] == "Q \\# no heading? (paper)"
    assert lines[-4:] == [
        "| condition | RR | collected | not as usual |",
        "| --- | ---: | ---: | --- |",
        "| \\<i\\>a\\</i\\> \\| \\`x\\` (baseline) | 0.500 [0.400, 0.600] | 0.500 [0.400, 0.600] | – |",
        "| \\<i\\>b\\</i\\> \\| \\`x\\` | 0.300 [0.200, 0.400] − | 0.300 [0.200, 0.400] − "
        "| 1 not asked, 2 without a record, 2 without model |",
    ]


def test_a_set_has_the_columns_that_it_has_values_for_and_says_what_choices_are_worth() -> None:
    rows = (_row("a", Cell(0.5, 0.4, 0.6, (0.5,))),)
    bare = SetTable(
        "bare", 4, tuple(Row("a", "a", "a", {}, 4, 0, 0, 0, {}) for _ in rows), ChoiceLevels(0.25, 0.5, "C")
    )
    table = ResultTable("T", "Q", "", "", ("RR",), ("collected",), (SetTable("s", 10, rows), bare))
    assert table.columns_of(table.sets[0]) == ("RR", "collected")
    assert table_text(table).splitlines()[-5:] == [
        "| condition |  | not as usual |",
        "| --- | --- |",
        "| a |  | – |",
        "",
        "Choices that are drawn are right in 0.250, always C, the most frequent, is in 0.500.",
    ]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (Cell(0.5, 0.4, 0.6, (0.4, 0.6)), "0.500 ± 0.141 [0.400, 0.600]"),
        (Cell(34.44, 29.0, 40.66, (34.44,)), "34.4 [29.0, 40.7]"),
        (Cell(0.0, 0.0, 0.0, (0.0,), Difference(0.0, 0.0, 0.0, 1.0, 1.0, 0, 10, 0)), "0.000 [0.000, 0.000]"),
    ],
)
def test_a_cell_is_a_mean_a_spread_and_an_interval(cell: Cell, text: str) -> None:
    assert cell_text(cell) == text


def test_what_went_as_usual_is_a_dash() -> None:
    assert counts_text(_row("a", Cell(0, 0, 0, (0,)), errors=2, empty=2)) == "2 not asked"
    assert counts_text(_row("a", Cell(0, 0, 0, (0,)))) == "–"


def test_every_sign_of_markdown_and_html_is_escaped() -> None:
    assert escape_markdown("a|b\n<img src=x> [l](http://x) `c`") == r"a\|b \<img src=x\> \[l\](http://x) \`c\`"
