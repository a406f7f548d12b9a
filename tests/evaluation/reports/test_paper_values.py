from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shrag.evaluation.experiments.spec import Expected, PaperItem
from shrag.evaluation.reports.html import render_report
from shrag.evaluation.reports.markdown import render_document, table_text
from shrag.evaluation.reports.paper_values import PaperValue, paper_values
from shrag.evaluation.reports.table import read_table
from tests.support.small_experiment import DEMO_SET, SMALL, run_small

PAPER = PaperItem("A paper", "Table 7", "Its questions are not public; these are the demonstration's.", ("R@20",))
EXPECTED = (
    Expected("demo", "or", {"nDCG@10": 0.5, "R@20": 58.5}),
    Expected("gone", "or", {"R@20": 60.0}),
)


@pytest.fixture(scope="module")
def folder(demo_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("results") / "paper"
    gone = msgspec.structs.replace(DEMO_SET, name="gone", topics="gone.tsv", bring="the paper's questions")
    run_small(
        demo_home,
        path,
        msgspec.structs.replace(SMALL, sets=(DEMO_SET, gone), plots=(), paper=PAPER, expected=EXPECTED),
    )
    return path


def test_values_are_compared_in_the_unit_of_the_paper(folder: Path) -> None:
    table = read_table(folder)
    cells = table.sets[0].rows[0].cells
    own, share = cells["nDCG@10"], cells["R@20"]
    assert paper_values(table) == (
        PaperValue("demo", "OR alone", "nDCG@10", 0.5, own.mean, own.low, own.high),
        PaperValue("demo", "OR alone", "R@20", 58.5, 100 * share.mean, 100 * share.low, 100 * share.high),
        PaperValue("gone", "or", "R@20", 60.0),
    )


def test_the_reports_have_paper_here_and_difference(folder: Path) -> None:
    value = paper_values(read_table(folder))[1]
    assert value.here is not None
    assert value.low is not None
    assert value.high is not None
    assert value.here > 60
    difference = f"+{value.here - 58.5:.3f}"
    here = f"{value.here:.1f} [{value.low:.1f}, "
    for text in (table_text(read_table(folder)), render_document([folder])):
        assert "# Next to A paper, table 7" in text
        assert "Its questions are not public" in text
        assert f"| demo | OR alone | R@20 | 58.5 | {here}" in text
        assert f"] | {difference} |" in text
        assert "| gone | or | R@20 | 60 | – | – |" in text
    page = render_report([folder])
    assert "<h2>Next to A paper, table 7</h2>" in page
    assert f'<td class="number" data-value="58.5">58.5</td><td class="number" data-value="{value.here}">{here}' in page
    assert f">{difference}</td>" in page


def test_an_experiment_of_no_paper_has_no_such_table(results_folder: Path) -> None:
    assert "Next to" not in table_text(read_table(results_folder))
    assert "Next to" not in render_report([results_folder])
