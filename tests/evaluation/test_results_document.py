from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.experiment import Claim
from shrag.evaluation.result_table import read_table
from shrag.evaluation.results_document import render_document
from tests.evaluation.small_experiment import SMALL, run_small

CLAIMS = (
    Claim("OR | collects more.", "collected", over=("and",)),
    Claim("OR collects fewer.", "collected", over=("and",), lower=True),
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
    fewer = other.cells["collected"].against
    assert fewer is not None
    assert fewer.sign == "-"
    margin = f"{-fewer.mean:+.3f} [{-fewer.high:+.3f}, {-fewer.low:+.3f}]"
    rival = f"{own.cells['collected'].mean:.3f} | AND of \\<b\\>all\\</b\\>: {other.cells['collected'].mean:.3f}"
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
    assert "| set | baseline, collected | lowest of the others | lower by | verdict |" in text
    assert "| set | baseline, collected | best of the others | better by | verdict |" in text
    assert f"| demo | {rival} | {fewer.mean:+.3f} [".replace("-", "−") in text
    assert "| the contrary is shown against 1 of 1 |" in text


def test_it_has_every_table_the_differences_the_times_and_what_produced_them(claiming: Path) -> None:
    text = render_document([claiming])
    assert text.startswith("# Results\n")
    assert "### demo (10 questions)" in text
    assert "Difference to the baseline `or` in collected; in bold what is significant:" in text
    assert "| AND of \\<b\\>all\\</b\\> | **−" in text
    assert text.count("Median milliseconds a question: `or` ") == 1
    assert "- **Command:** `shrag 'x y'`, seed 0," in text
    assert "- **Questions:** demo 10" in text
    assert "- **Language model:** none" in text


def test_several_folders_are_sections_in_their_order(claiming: Path, results_folder: Path) -> None:
    text = render_document([claiming, results_folder])
    assert text.count("\n## Small\n") == 2
    # Results that claim nothing are compared by their first measure.
    assert "in nDCG@10; in bold" in text.split("\n## Small\n")[2]


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsMismatch, match="holds no results"):
        render_document([tmp_path])
