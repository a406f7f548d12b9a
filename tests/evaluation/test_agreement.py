from __future__ import annotations

import pytest

from shrag.evaluation.agreement import agreement
from shrag.evaluation.annotations import Annotations
from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.kappa import cohen_kappa, fleiss_kappa

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
    assert [(each.figure, each.annotators, each.items) for each in found] == [
        ("Krippendorff's alpha (nominal)", ("a", "b", "c"), 21),
        ("Fleiss' kappa", ("a", "b", "c"), 20),
        ("Cohen's kappa", ("a", "b"), 21),
        ("Cohen's kappa", ("a", "c"), 20),
        ("Cohen's kappa", ("b", "c"), 20),
    ]
    fleiss, cohen = found[1], found[3]
    assert fleiss.value == fleiss_kappa([tuple(LABELS.labels[item].values()) for item in LABELS.shared("abc")])
    assert cohen.value == cohen_kappa(["y"] * 10 + ["n"] * 10, ["y"] * 10 + ["y", "n"] * 5) == pytest.approx(0.5)
    for each in found:
        assert each.value is not None
        assert each.interval is not None
        assert each.interval.low <= each.value <= each.interval.high


def test_scores_have_alpha_and_the_correlations_of_each_two() -> None:
    scores = {f"i{n}": {"a": str(n), "b": str(n * n), "c": str((n * 5) % 7)} for n in range(12)}
    found = agreement(Annotations(scores, scored=True))
    assert [each.figure for each in found[:5]] == [
        "Krippendorff's alpha (ordinal)",
        "Krippendorff's alpha (interval)",
        "Pearson's r",
        "Spearman's rho",
        "Kendall's tau-b",
    ]
    assert len(found) == 2 + 3 * 3
    by_name = {each.figure: each for each in found[2:5]}
    assert by_name["Spearman's rho"].value == pytest.approx(1.0)
    assert by_name["Kendall's tau-b"].value == 1.0
    assert by_name["Pearson's r"].value == pytest.approx(0.9634, abs=1e-3)


def test_figures_that_are_not_defined_are_none() -> None:
    found = agreement(Annotations({"q1": {"a": "y"}, "q2": {"b": "y"}, "q3": {"a": "y", "b": "y"}}, scored=False))
    assert [(each.items, each.value, each.interval) for each in found] == [(1, None, None)] * 3
    apart = agreement(Annotations({"q1": {"a": "1"}, "q2": {"b": "2"}}, scored=True))
    assert [(each.items, each.value) for each in apart] == [(0, None)] * 5


def test_one_annotator_has_no_one_to_agree_with() -> None:
    with pytest.raises(EvaluationError, match="there is one only"):
        agreement(Annotations({"q1": {"a": "y"}}, scored=False))
