from __future__ import annotations

import pytest

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.kappa import cohen_kappa, fleiss_kappa

# How many of 14 raters gave each of 10 subjects each of 5 labels; the worked example of "Fleiss' kappa" in Wikipedia.
SUBJECTS = [
    *([0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1]),
    *([7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]),
]


def test_fleiss_of_the_published_example_is_0_210() -> None:
    items = [[str(label) for label, count in enumerate(counts) for _ in range(count)] for counts in SUBJECTS]
    assert fleiss_kappa(items) == pytest.approx(0.2099, abs=5e-5)
    assert fleiss_kappa([sorted(labels, reverse=True) for labels in items]) == fleiss_kappa(items)


def test_cohen_of_the_published_example_is_0_40() -> None:
    # 50 proposals: both yes 20, a only 5, b only 10, both no 15; the worked example of "Cohen's kappa" in Wikipedia.
    a = ["y"] * 25 + ["n"] * 25
    b = ["y"] * 20 + ["n"] * 5 + ["y"] * 10 + ["n"] * 15
    assert cohen_kappa(a, b) == pytest.approx(0.4)
    assert cohen_kappa(b, a) == pytest.approx(0.4)


def test_perfect_chance_and_opposite_are_one_zero_and_minus_one() -> None:
    assert cohen_kappa(["y", "n"], ["y", "n"]) == 1.0
    assert cohen_kappa(["y", "y", "n", "n"], ["y", "n", "y", "n"]) == 0.0
    assert cohen_kappa(["y", "n"], ["n", "y"]) == -1.0
    assert fleiss_kappa([["y", "y"], ["n", "n"]]) == 1.0
    assert fleiss_kappa([["y", "n"], ["y", "n"]]) == -1.0


def test_one_label_throughout_leaves_nothing_to_chance() -> None:
    assert cohen_kappa(["y", "y"], ["y", "y"]) is None
    assert fleiss_kappa([["y", "y"], ["y", "y"]]) is None
    assert cohen_kappa(["y", "y"], ["n", "n"]) == 0.0


def test_what_is_not_paired_is_refused() -> None:
    with pytest.raises(EvaluationError, match="labels of the same items, got 1 and 2"):
        cohen_kappa(["y"], ["y", "n"])
    with pytest.raises(EvaluationError, match="got 0 and 0"):
        cohen_kappa([], [])
    for items in ([["y", "n"], ["y"]], [["y"]], []):
        with pytest.raises(EvaluationError, match="as many labels of each item, two or more"):
            fleiss_kappa(items)
