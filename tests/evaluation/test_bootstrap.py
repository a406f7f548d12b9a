from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.evaluation.bootstrap import bootstrap_interval
from shrag.evaluation.errors import EvaluationError

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
    with pytest.raises(EvaluationError, match="nan is no value of a measure"):
        bootstrap_interval([0.5, float("nan")])
    with pytest.raises(EvaluationError, match=r"between 0 and 1, such as 0.95, got 95"):
        bootstrap_interval([0.5], level=95)
    with pytest.raises(EvaluationError, match="a sample or more, got 0"):
        bootstrap_interval([0.5, 1.0], samples=0)
