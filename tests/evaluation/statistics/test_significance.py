"""Significance: the randomisation test, and Holm's correction."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.statistics.comparison import holm, paired_randomisation


def test_the_smallest_of_four_is_multiplied_by_four_and_none_falls_below_its_predecessor() -> None:
    assert holm([0.005, 0.011, 0.02, 0.04]) == pytest.approx([0.02, 0.033, 0.04, 0.04])
    assert holm([0.04, 0.02, 0.011, 0.005]) == pytest.approx([0.04, 0.04, 0.033, 0.02])


def test_one_is_the_limit_and_one_or_no_test_needs_no_correction() -> None:
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([0.03]) == [0.03]
    assert holm([]) == []


def test_few_topics_are_counted_exactly_by_hand() -> None:
    # Differences 1, 2, 3: of the eight sums only +6 and -6 are as large as the one seen.
    assert paired_randomisation([0, 0, 0], [1, 2, 3]) == 2 / 8
    # Differences 1, 2, -3 sum to 0: every exchange is as large.
    assert paired_randomisation([0, 0, 3], [1, 2, 0]) == 1.0
    # Differences 3, -1: |2| is reached by all four of ±2, ±4.
    assert paired_randomisation([0, 1], [3, 0]) == 1.0


def test_fishers_darwin_data_give_his_p() -> None:
    # Fisher, The Design of Experiments (1935), section 21: cross- and self-fertilised maize, eighths of an inch;
    # 1,726 of 2^15 sums are as large.
    differences = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    assert paired_randomisation([0] * 15, differences) == pytest.approx(1_726 / 2**15)


def test_topics_that_do_not_differ_change_nothing() -> None:
    assert paired_randomisation([0, 0, 0, 7, 7], [1, 2, 3, 7, 7]) == 2 / 8
    assert paired_randomisation([0.5] * 40, [0.5] * 40) == 1.0
    assert paired_randomisation([], []) == 1.0


@pytest.mark.slow
def test_many_topics_are_drawn_and_agree_with_scipys() -> None:
    from scipy.stats import permutation_test

    random = np.random.default_rng(3)
    a = random.random(60)
    b = np.clip(a + random.normal(0.04, 0.2, 60), 0, 1)
    chance = np.random.default_rng(4)
    theirs = permutation_test(
        (b, a), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=100_000, rng=chance
    )
    ours = paired_randomisation(a.tolist(), b.tolist())
    assert 0.01 < ours < 0.5
    assert ours == pytest.approx(theirs.pvalue, abs=0.006)  # three standard errors of the two draws
    assert ours == paired_randomisation(b.tolist(), a.tolist())
    assert ours == paired_randomisation(a.tolist(), b.tolist())
    assert ours != paired_randomisation(a.tolist(), b.tolist(), seed=1)


def test_drawing_agrees_with_counting() -> None:
    a, b = [0.0] * 12, [0.5, -0.2, 0.1, 0.4, 0.3, -0.1, 0.25, 0.6, -0.35, 0.2, 0.15, 0.05]
    assert paired_randomisation(a, b, samples=4_000) == pytest.approx(paired_randomisation(a, b), abs=0.02)


def test_p_is_never_zero_when_it_is_drawn() -> None:
    assert paired_randomisation([0.0] * 200, [1.0] * 200, samples=999) == 1 / 1_000


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=9))
def test_p_is_a_probability_and_symmetric(pairs: list[tuple[float, float]]) -> None:
    a, b = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    p = paired_randomisation(a, b)
    assert 0 < p <= 1
    assert p == paired_randomisation(b, a)


def test_what_is_not_paired_is_refused() -> None:
    with pytest.raises(EvaluationError, match="the same number of values on both sides, got 1 and 2"):
        paired_randomisation([1.0], [1.0, 2.0])
    with pytest.raises(EvaluationError, match="not finite"):
        paired_randomisation([1.0], [float("nan")])
    with pytest.raises(EvaluationError, match="at least one sample, got 0"):
        paired_randomisation([1.0], [2.0], samples=0)
