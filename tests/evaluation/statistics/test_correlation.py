from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.statistics.agreement import kendall, pearson, spearman
from shrag.evaluation.statistics.intervals import Interval

# "Spearman's rank correlation coefficient" in Wikipedia: IQ and hours of television; rho = -29/165.
IQ = [106, 100, 86, 101, 99, 103, 97, 113, 112, 110]
HOURS = [7, 27, 2, 50, 28, 29, 20, 12, 6, 17]


def test_spearman_of_the_published_example_is_minus_29_165ths() -> None:
    found = spearman(IQ, HOURS)
    assert found is not None
    assert found.coefficient == pytest.approx(-29 / 165)


def test_small_examples_by_hand() -> None:
    # Off the means -1.5 -.5 .5 1.5 and -.5 -1.5 1.5 .5: r = 3 / 5; four pairs of six ordered alike.
    r, rho, tau = (correlate([1, 2, 3, 4], [2, 1, 4, 3]) for correlate in (pearson, spearman, kendall))
    assert r is not None
    assert rho is not None
    assert tau is not None
    assert [r.coefficient, rho.coefficient] == pytest.approx([0.6, 0.6])
    assert tau.coefficient == pytest.approx((4 - 2) / 6)
    assert (r.interval, rho.interval, tau.interval) == (None, None, None)


def test_fishers_interval_of_a_half_over_28_items_is_by_hand() -> None:
    # atanh .5 = .5493, ± 1.96 / √25 = .3920: tanh .1573 to tanh .9413.
    random = np.random.default_rng(0)
    x, e = random.normal(size=28), random.normal(size=28)
    x = (x - x.mean()) / x.std()
    e = e - e.mean() - (e @ x) / (x @ x) * x
    found = pearson(x.tolist(), (0.5 * x + math.sqrt(0.75) * e / e.std()).tolist())
    assert found is not None
    assert found.coefficient == pytest.approx(0.5)
    assert found.interval == pytest.approx((0.1560, 0.7358), abs=5e-4)


def test_five_items_are_the_fewest_with_an_interval() -> None:
    # atanh .9 = 1.4722 and atanh .8 = 1.0986; ± 1.96 √(1 / 2), 1.96 √(1.405 / 2) and 1.96 √(0.437 / 1).
    r, rho, tau = (correlate([1, 2, 3, 4, 5], [1, 2, 3, 5, 4]) for correlate in (pearson, spearman, kendall))
    assert r is not None
    assert rho is not None
    assert tau is not None
    assert r.interval == pytest.approx((0.0861, 0.9934), abs=1e-4)
    assert rho.interval == pytest.approx((-0.1689, 0.9961), abs=1e-4)
    assert tau.interval == pytest.approx((-0.1945, 0.9835), abs=1e-4)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=40))
def test_they_are_scipys_whatever_the_ties(pairs: list[tuple[int, int]]) -> None:
    from scipy import stats

    a, b = [float(x) for x, _ in pairs], [float(y) for _, y in pairs]
    for ours, theirs in ((pearson, stats.pearsonr), (spearman, stats.spearmanr), (kendall, stats.kendalltau)):
        found = ours(a, b)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scipy warns of constant scores
            expected = float(theirs(a, b).statistic)
        assert (found is None) == math.isnan(expected)
        if found is not None:
            assert found.coefficient == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("correlate", [pearson, spearman, kendall])
def test_constant_or_too_few_scores_have_none_and_perfect_ones_no_width(correlate: object) -> None:
    assert callable(correlate)
    assert correlate([1.0] * 9, list(range(9))) is None
    assert correlate([], []) is None
    assert correlate([1.0], [2.0]) is None
    assert correlate(list(range(9)), list(range(9))) == (pytest.approx(1.0), Interval(1.0, 1.0))
    assert correlate(list(range(9)), list(range(9, 0, -1)))[0] == pytest.approx(-1.0)
    with pytest.raises(EvaluationError, match="the same items, got 1 and 2"):
        correlate([1.0], [1.0, 2.0])
    with pytest.raises(EvaluationError, match="not finite"):
        correlate([1.0, float("inf")], [1.0, 2.0])
    with pytest.raises(EvaluationError, match="between 0 and 1"):
        correlate([1.0, 2.0], [1.0, 2.0], level=2)


def test_scores_of_any_size_correlate() -> None:
    found = pearson([1e-200, 2e-200, 3e-200, 5e-200, 4e-200], [1e200, 2e200, 3e200, 4e200, 5e200])
    assert found is not None
    assert found.coefficient == pytest.approx(0.9)
