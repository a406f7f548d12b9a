from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.experiments.spec import Claim
from shrag.evaluation.questions.figures import ChoiceBaselines
from shrag.evaluation.reports.markdown import cell_text, counts_text, escape_markdown, render_document, table_text
from shrag.evaluation.reports.table import BaselineDifference, ResultCell, ResultRow, ResultTable, SetTable, read_table
from tests.support.small_experiment import SMALL, run_small

CLAIMS = (
    Claim("OR | collects more.", "num_candidates", over=("and",)),
    Claim("OR collects fewer.", "num_candidates", over=("and",), lower_is_better=True),
    Claim("OR ranks best.", "nDCG@10"),
)


@pytest.fixture(scope="module")
def claiming(demo_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results") / "claiming"
    run_small(demo_home, folder, msgspec.structs.replace(SMALL, claims=CLAIMS, plots=()), command=("shrag", "x y"))
    return folder


def test_each_claim_has_a_verdict_set_by_set_with_the_numbers_of_the_table(claiming: Path) -> None:
    text = render_document([claiming])
    own, other, _ = read_table(claiming).sets[0].rows
    fewer = other.cells["num_candidates"].difference
    assert fewer is not None
    assert fewer.sign == "-"
    margin = f"{-fewer.mean:+.3f} [{-fewer.high:+.3f}, {-fewer.low:+.3f}]"
    rival = (
        f"{own.cells['num_candidates'].mean:.3f} | AND of \\<b\\>all\\</b\\>: {other.cells['num_candidates'].mean:.3f}"
    )
    assert f"| demo | {rival} | {margin} | holds |" in text
    assert "**OR \\| collects more.** Of 1 sets, shown against every other condition on 1, against some" in text
    assert (
        "**OR collects fewer.** Of 1 sets, shown against every other condition on 0, against some of them on 0, not "
        in text
    )
    assert (
        "not shown on 0, contradicted on 1. The baseline's mean is no higher than the lowest of the others on 0."
        in text
    )
    assert "contradicted on 0. The baseline's mean is no worse than the best of the others on 1." in text
    assert "| set | baseline, num\\_candidates | lowest of the others | lower by | verdict |" in text
    assert "| set | baseline, num\\_candidates | best of the others | better by | verdict |" in text
    assert f"| demo | {rival} | {fewer.mean:+.3f} [".replace("-", "−") in text
    assert "| the contrary is shown against 1 of 1 |" in text


def test_it_has_every_table_the_differences_the_times_and_what_produced_them(claiming: Path) -> None:
    text = render_document([claiming])
    assert text.startswith("# Results in full\n")
    assert "### demo (10 questions)" in text
    assert "Difference from the baseline `or` in num\\_candidates; significant ones in bold:" in text
    assert "| AND of \\<b\\>all\\</b\\> | **−" in text
    assert text.count("Median milliseconds per question: `or` ") == 1
    assert "- **command:** shrag 'x y' (" in text
    assert "- **questions of demo:** 10 asked; left out: " in text
    assert "- **language model:** none" in text


def test_several_folders_are_sections_in_their_order(claiming: Path, results_folder: Path) -> None:
    text = render_document([claiming, results_folder])
    assert text.count("\n## Small\n") == 2
    # Results that claim nothing are compared by their first measure.
    assert "in nDCG@10; significant ones in bold" in text.split("\n## Small\n")[2]


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsMismatch, match="holds no results"):
        render_document([tmp_path])


WORSE = BaselineDifference(-0.2, -0.3, -0.1, 0.001, 0.002, 0, 1, 9)


def _row(name: str, cell: ResultCell, errors: int = 0, empty: int = 0, fallbacks: int = 0) -> ResultRow:
    return ResultRow(
        name, f"<i>{name}</i> | `x`", name, {}, 10, errors, empty, fallbacks, {"RR": cell, "num_candidates": cell}
    )


def test_the_table_has_a_line_for_each_condition_and_nothing_in_it_is_markup() -> None:
    rows = (_row("a", ResultCell(0.5, 0.4, 0.6, (0.5,))), _row("b", ResultCell(0.3, 0.2, 0.4, (0.3,), WORSE), 1, 3, 2))
    table = ResultTable(
        "T *x*", "Q\n# no heading?", "paper", "a", ("RR",), ("num_candidates",), (SetTable("s", 10, rows),)
    )
    lines = table_text(table).splitlines()
    assert lines[0] == "# T \\*x\\*"
    assert lines[2] == "Q \\# no heading? (paper)"
    assert lines[-4:] == [
        "| condition | RR | num\\_candidates | not as usual |",
        "| --- | ---: | ---: | --- |",
        "| \\<i\\>a\\</i\\> \\| \\`x\\` (baseline) | 0.500 [0.400, 0.600] | 0.500 [0.400, 0.600] | – |",
        "| \\<i\\>b\\</i\\> \\| \\`x\\` | 0.300 [0.200, 0.400] − | 0.300 [0.200, 0.400] − "
        "| 1 not asked, 2 without a record, 2 without model |",
    ]


def test_a_set_has_the_columns_that_it_has_values_for_and_says_what_choices_are_worth() -> None:
    rows = (_row("a", ResultCell(0.5, 0.4, 0.6, (0.5,))),)
    bare = SetTable(
        "bare", 4, tuple(ResultRow("a", "a", "a", {}, 4, 0, 0, 0, {}) for _ in rows), ChoiceBaselines(0.25, 0.5, "C")
    )
    table = ResultTable("T", "Q", "", "", ("RR",), ("num_candidates",), (SetTable("s", 10, rows), bare))
    assert table.columns_of(table.sets[0]) == ("RR", "num_candidates")
    assert table_text(table).splitlines()[-5:] == [
        "| condition |  | not as usual |",
        "| --- | --- |",
        "| a |  | – |",
        "",
        "Random choices have an expected accuracy of 0.250; always choosing C, the most frequent one, has 0.500.",
    ]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (ResultCell(0.5, 0.4, 0.6, (0.4, 0.6)), "0.500 ± 0.141 [0.400, 0.600]"),
        (ResultCell(34.44, 29.0, 40.66, (34.44,)), "34.4 [29.0, 40.7]"),
        (
            ResultCell(0.0, 0.0, 0.0, (0.0,), BaselineDifference(0.0, 0.0, 0.0, 1.0, 1.0, 0, 10, 0)),
            "0.000 [0.000, 0.000]",
        ),
    ],
)
def test_a_cell_is_a_mean_a_spread_and_an_interval(cell: ResultCell, text: str) -> None:
    assert cell_text(cell) == text


def test_what_went_as_usual_is_a_dash() -> None:
    assert counts_text(_row("a", ResultCell(0, 0, 0, (0,)), errors=2, empty=2)) == "2 not asked"
    assert counts_text(_row("a", ResultCell(0, 0, 0, (0,)))) == "–"


def test_every_sign_of_markdown_and_html_is_escaped() -> None:
    assert escape_markdown("a|b\n<img src=x> [l](http://x) `c`") == r"a\|b \<img src=x\> \[l\](http://x) \`c\`"


def test_numbers_below_ten_have_three_decimals_and_others_one() -> None:
    assert cell_text(ResultCell(9.5, 9.25, 10.0, (9.5,))) == "9.500 [9.250, 10.0]"
    assert cell_text(ResultCell(-10.0, -12.34, -9.5, (-10.0,))) == "-10.0 [-12.3, -9.500]"
