from __future__ import annotations

import pytest

from shrag.evaluation.bootstrap import bootstrap_interval
from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.proportion import mean_interval, wilson_interval


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
    with pytest.raises(EvaluationError, match="3 of 2 is no share"):
        wilson_interval(3, 2)
    with pytest.raises(EvaluationError, match="0 of 0 is no share"):
        wilson_interval(0, 0)
    with pytest.raises(EvaluationError, match="got 1"):
        wilson_interval(1, 2, level=1)
    with pytest.raises(EvaluationError, match="There is no value"):
        mean_interval([])
