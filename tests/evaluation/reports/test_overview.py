"""The first page of results says what the tables say, and the one in docs/ is what the tables there give."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrag.evaluation.reports.overview import overview, tables_path, write_overview
from tests.conftest import ROOT

PAGE = ROOT / "docs/en/explanation/results.md"

TABLES = """# Results in full

## First

Is it so?

**It is so.** Of 2 sets, shown against every other condition on 1, against some of them on 0, not shown on 1, \
contradicted on 0. The baseline's mean is no worse than the best of the others on 2.

| set | baseline, nDCG@10 | best of the others | better by | verdict |
| --- | ---: | --- | ---: | --- |
| wiki-ko | 0.963 | bm25s, 2 words: 0.941 | +0.022 [+0.009, +0.038] | holds against all 5 |
| demo | 0.965 | BM25: 0.900 | +0.065 [−0.017, +0.132] | no difference shown |

### wiki-ko (500 questions)

## Second

Which?

Success at 1:

| set | questions | SHRAG | LSA |
| --- | ---: | ---: | ---: |
| cacm | 1,000 | 0.750 [0.667, 0.818] | 0.185 [0.127, 0.263] − |
"""


def test_claims_and_figures_are_those_of_the_tables() -> None:
    found = overview(TABLES, Path("results.md"))
    assert "[all tables](results-tables.md)" in found.page
    assert "| It is so. | 2 | 1 | 0 | 1 | 0 |" in found.page
    first, second = found.plots.values()
    assert list(found.plots) == ["results-1.svg", "results-2.svg"]
    assert [(label.key, label.x) for label in first.labels] == [("wiki-ko", 0.0), ("demo", 1.0)]
    assert [(each.label, [point.mean for point in each.points]) for each in first.series] == [
        ("baseline", [0.963, 0.965]),
        ("best of the others", [0.941, 0.900]),
    ]
    assert second.measure == "Success at 1"
    (point,) = second.series[0].points
    assert (second.series[0].label, point.mean, point.low, point.high) == ("SHRAG", 0.750, 0.667, 0.818)


def test_a_section_whose_first_table_has_a_row_for_each_condition_has_no_plot() -> None:
    table = "| condition | Success@1 | not as usual |\n| --- | ---: | --- |\n| SHRAG | 0.823 [0.746, 0.880] | – |\n"
    found = overview(f"# Results in full\n\n## Both languages\n\nIs it found?\n\n{table}", Path("results.md"))
    assert (found.plots, found.page.endswith("Is it found?\n")) == ({}, True)


def test_the_page_its_tables_and_its_plots_are_written_beside_each_other(tmp_path: Path) -> None:
    write_overview(TABLES, tmp_path / "found.md")
    assert {path.name for path in tmp_path.iterdir()} == {
        "found.md", "found-tables.md", "found-1.svg", "found-2.svg",
    }  # fmt: skip
    assert (tmp_path / "found-tables.md").read_text(encoding="utf-8") == TABLES
    assert "wiki-ko" in (tmp_path / "found-1.svg").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_page_in_docs_and_its_plots_are_those_of_its_tables(tmp_path: Path) -> None:
    write_overview(tables_path(PAGE).read_text(encoding="utf-8"), tmp_path / PAGE.name)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert {name: PAGE.with_name(name).read_bytes() for name in made} == made
    assert len(made) == 9
