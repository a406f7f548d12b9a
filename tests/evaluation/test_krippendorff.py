from __future__ import annotations

import pytest

from shrag.evaluation.krippendorff import krippendorff_alpha, krippendorff_alpha_of_scores

# Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), example C: four observers, twelve units, 0 missing.
OBSERVERS = ["123321412000", "123322412503", "033323422510", "123324412510"]
UNITS = [[float(value) for value in unit if value != "0"] for unit in zip(*OBSERVERS, strict=True)]


def test_the_published_example_has_its_published_values() -> None:
    assert krippendorff_alpha([[str(value) for value in unit] for unit in UNITS]) == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha_of_scores(UNITS, "nominal") == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha_of_scores(UNITS, "ordinal") == pytest.approx(0.815, abs=5e-4)
    assert krippendorff_alpha_of_scores(UNITS, "interval") == pytest.approx(0.849, abs=5e-4)


def test_two_observers_of_two_values_by_hand() -> None:
    # Krippendorff (2011), example A: ten units, Do = 4 / 20, De from 14 zeros and 6 ones: alpha = 0.095.
    a, b = "0100000010", "1110010000"
    units = [list(pair) for pair in zip(a, b, strict=True)]
    assert krippendorff_alpha(units) == pytest.approx(0.095, abs=5e-4)


def test_perfect_is_one_and_without_pairs_or_difference_it_is_undefined() -> None:
    assert krippendorff_alpha([["a", "a"], ["b", "b", "b"]]) == 1.0
    assert krippendorff_alpha([["a", "a"], ["a", "a"]]) is None
    assert krippendorff_alpha([["a"], ["b"], []]) is None
    assert krippendorff_alpha([]) is None


def test_an_item_with_one_value_changes_nothing() -> None:
    assert krippendorff_alpha_of_scores([*UNITS, [5.0], []]) == krippendorff_alpha_of_scores(UNITS)
