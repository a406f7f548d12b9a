"""Confidence intervals by bootstrap and of proportions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.statistics.intervals import bootstrap_interval, item_interval, mean_interval, wilson_interval

VALUES = [0.0, 0.0, 0.1, 0.25, 0.3, 0.39, 0.5, 0.63, 1.0, 1.0, 1.0, 1.0]


def test_the_interval_is_pinned_and_the_same_each_time_and_in_any_order() -> None:
    found = bootstrap_interval(VALUES)
    assert found == bootstrap_interval(list(reversed(VALUES)))
    assert found == pytest.approx((0.298333, 0.730429), abs=1e-6)


def test_another_seed_gives_nearly_the_same() -> None:
    assert bootstrap_interval(VALUES, seed=1) != bootstrap_interval(VALUES)
    assert bootstrap_interval(VALUES, seed=1) == pytest.approx(bootstrap_interval(VALUES), abs=0.015)


def test_it_is_scipys_bca_interval_up_to_chance() -> None:
    from scipy.stats import bootstrap

    skewed = [0.0] * 20 + [0.05, 0.1, 0.2, 0.4, 0.9, 1.0, 1.0]
    theirs = bootstrap((skewed,), np.mean, n_resamples=40_000, method="BCa", rng=np.random.default_rng(5))
    ours = bootstrap_interval(skewed, samples=100_000)
    assert ours == pytest.approx(theirs.confidence_interval, abs=4e-3)
    plain = bootstrap((skewed,), np.mean, n_resamples=40_000, method="percentile", rng=np.random.default_rng(5))
    assert ours.high > plain.confidence_interval.high + 0.01


def test_it_holds_the_mean_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(7)
    held = 0
    for trial in range(300):
        low, high = bootstrap_interval(random.beta(0.5, 0.8, size=40), seed=trial, samples=1_000)
        held += low <= 0.5 / 1.3 <= high
    assert 0.91 <= held / 300 <= 0.98


def test_a_higher_level_is_wider_and_one_value_has_no_width() -> None:
    narrow, wide = bootstrap_interval(VALUES, level=0.8), bootstrap_interval(VALUES, level=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high
    assert bootstrap_interval([0.4]) == (0.4, 0.4)
    assert bootstrap_interval([1.0] * 25) == (1.0, 1.0)


@given(st.lists(st.floats(min_value=-1, max_value=1), min_size=1, max_size=12))
def test_it_lies_within_the_values_and_its_ends_are_in_order(values: list[float]) -> None:
    low, high = bootstrap_interval(values, samples=200)
    assert min(values) - 1e-12 <= low <= high <= max(values) + 1e-12


def test_what_has_no_interval_is_refused() -> None:
    with pytest.raises(EvaluationError, match="There is no value"):
        bootstrap_interval([])
    with pytest.raises(EvaluationError, match="nan is not a value of a measure"):
        bootstrap_interval([0.5, float("nan")])
    with pytest.raises(EvaluationError, match=r"between 0 and 1, such as 0.95, got 95"):
        bootstrap_interval([0.5], level=95)
    with pytest.raises(EvaluationError, match="at least one sample, got 0"):
        bootstrap_interval([0.5, 1.0], samples=0)


def _mean(items: Sequence[float]) -> float | None:
    return sum(items) / len(items) if items else None


def test_a_mean_has_about_the_normal_interval_the_same_each_time() -> None:
    items = [n / 99 for n in range(100)]
    found = item_interval(_mean, items)
    assert found == item_interval(_mean, items)
    assert found == pytest.approx((0.443, 0.557), abs=0.01)
    assert found == pytest.approx((0.442619, 0.555056), abs=1e-6)
    assert found != item_interval(_mean, items, seed=1)


def test_few_items_or_a_figure_that_samples_seldom_have_give_none() -> None:
    assert item_interval(_mean, []) is None
    assert item_interval(_mean, [0.5]) is None
    assert item_interval(lambda items: 1.0 if len(set(items)) > 1 else None, ["a", "b"]) is None
    assert item_interval(lambda items: 1.0 if len(set(items)) > 1 else None, list("abcdef")) == (1.0, 1.0)


def test_a_level_is_a_share() -> None:
    with pytest.raises(EvaluationError, match="between 0 and 1"):
        item_interval(_mean, [1.0, 2.0], level=95)


def test_the_score_interval_is_that_of_the_literature() -> None:
    # Newcombe, Two-sided confidence intervals for the single proportion (1998), table I, method 3.
    assert wilson_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson_interval(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson_interval(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson_interval(1, 29) == pytest.approx((0.0061, 0.1718), abs=5e-5)


def test_a_query_success_rate_of_25_of_25_is_not_certain() -> None:
    low, high = mean_interval([1.0] * 25)
    assert (low, high) == pytest.approx((0.8668, 1.0), abs=5e-5)
    assert mean_interval([1.0] * 47 + [0.0] * 3) == pytest.approx((0.8378, 0.9794), abs=5e-5)


def test_values_between_zero_and_one_are_bootstrapped() -> None:
    assert mean_interval([0.0, 0.5, 1.0], seed=3) == bootstrap_interval([0.0, 0.5, 1.0], seed=3)


def test_what_is_no_share_is_refused() -> None:
    with pytest.raises(EvaluationError, match="3 of 2 is not a share"):
        wilson_interval(3, 2)
    with pytest.raises(EvaluationError, match="0 of 0 is not a share"):
        wilson_interval(0, 0)
    with pytest.raises(EvaluationError, match="got 1"):
        wilson_interval(1, 2, level=1)
    with pytest.raises(EvaluationError, match="There is no value"):
        mean_interval([])
