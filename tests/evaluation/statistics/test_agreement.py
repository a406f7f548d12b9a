"""Agreement between annotators: alpha, kappa, and correlations."""

from __future__ import annotations

import pytest

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.statistics.agreement import (
    agreement,
    chance_agreement,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    krippendorff_alpha_of_scores,
    proportional_agreement,
)
from shrag.evaluation.statistics.annotations import Annotations

LABELS = Annotations(
    {
        **{f"y{n}": {"a": "y", "b": "y", "c": "y"} for n in range(10)},
        **{f"n{n}": {"a": "n", "b": "n", "c": "n" if n % 2 else "y"} for n in range(10)},
        "half": {"a": "y", "b": "n"},
        "one": {"a": "y"},
    },
    scored=False,
)


def test_labels_have_alpha_fleiss_and_cohen_of_each_two_over_the_items_each_can_use() -> None:
    found = agreement(LABELS)
    assert [(each.statistic, each.annotators, each.items) for each in found] == [
        ("Krippendorff's alpha (nominal)", ("a", "b", "c"), 21),
        ("Fleiss' kappa", ("a", "b", "c"), 20),
        ("Proportional agreement (PA)", ("a", "b", "c"), 20),
        ("Agreement by chance (PE)", ("a", "b", "c"), 20),
        ("Cohen's kappa", ("a", "b"), 21),
        ("Cohen's kappa", ("a", "c"), 20),
        ("Cohen's kappa", ("b", "c"), 20),
    ]
    fleiss, cohen = found[1], found[5]
    assert fleiss.value == fleiss_kappa([tuple(LABELS.labels[item].values()) for item in LABELS.shared("abc")])
    assert cohen.value == cohen_kappa(["y"] * 10 + ["n"] * 10, ["y"] * 10 + ["y", "n"] * 5) == pytest.approx(0.5)
    for each in found:
        assert each.value is not None
        assert each.interval is not None
        assert each.interval.low <= each.value <= each.interval.high


def test_scores_have_alpha_and_the_correlations_of_each_two() -> None:
    scores = {f"i{n}": {"a": str(n), "b": str(n * n), "c": str((n * 5) % 7)} for n in range(12)}
    found = agreement(Annotations(scores, scored=True))
    assert [each.statistic for each in found[:5]] == [
        "Krippendorff's alpha (ordinal)",
        "Krippendorff's alpha (interval)",
        "Pearson's r",
        "Spearman's rho",
        "Kendall's tau-b",
    ]
    assert len(found) == 2 + 3 * 3
    by_name = {each.statistic: each for each in found[2:5]}
    assert by_name["Spearman's rho"].value == pytest.approx(1.0)
    assert by_name["Kendall's tau-b"].value == 1.0
    assert by_name["Pearson's r"].value == pytest.approx(0.9634, abs=1e-3)


def test_figures_that_are_not_defined_are_none() -> None:
    found = agreement(Annotations({"q1": {"a": "y"}, "q2": {"b": "y"}, "q3": {"a": "y", "b": "y"}}, scored=False))
    assert [(each.items, each.value) for each in found] == [(1, None), (1, None), (1, 1.0), (1, 1.0), (1, None)]
    assert [each.interval for each in found if each.value is None] == [None] * 3
    apart = agreement(Annotations({"q1": {"a": "1"}, "q2": {"b": "2"}}, scored=True))
    assert [(each.items, each.value) for each in apart] == [(0, None)] * 5


def test_one_annotator_has_no_one_to_agree_with() -> None:
    with pytest.raises(EvaluationError, match="there is only one"):
        agreement(Annotations({"q1": {"a": "y"}}, scored=False))


# How many of 14 raters gave each of 10 subjects each of 5 labels; the worked example of "Fleiss' kappa" in Wikipedia.
SUBJECTS = [
    *([0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1]),
    *([7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]),
]


def test_fleiss_of_the_published_example_is_0_210() -> None:
    items = [[str(label) for label, count in enumerate(counts) for _ in range(count)] for counts in SUBJECTS]
    assert fleiss_kappa(items) == pytest.approx(0.2099, abs=5e-5)
    assert fleiss_kappa([sorted(labels, reverse=True) for labels in items]) == fleiss_kappa(items)
    assert proportional_agreement(items) == pytest.approx(0.378, abs=5e-4)
    assert chance_agreement(items) == pytest.approx(0.213, abs=5e-4)


def test_pa_pe_and_kappa_of_the_tree_of_question_papers_table_6_go_together() -> None:
    for pa, pe, kappa in ((0.872, 0.500288, 0.744), (0.892, 0.5882, 0.738)):
        assert (pa - pe) / (1 - pe) == pytest.approx(kappa, abs=1e-3)


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
        with pytest.raises(EvaluationError, match="the same number of labels for each item, two or more"):
            fleiss_kappa(items)


# Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), example C: four observers, twelve units, 0 missing.
OBSERVERS = ["123321412000", "123322412503", "033323422510", "123324412510"]
UNITS = [[float(value) for value in unit if value != "0"] for unit in zip(*OBSERVERS, strict=True)]


def test_the_published_example_has_its_published_values() -> None:
    assert krippendorff_alpha([[str(value) for value in unit] for unit in UNITS]) == pytest.approx(0.743, abs=5e-4)
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
    more = [*UNITS, [5.0], []]
    assert krippendorff_alpha_of_scores(more, "interval") == krippendorff_alpha_of_scores(UNITS, "interval")
