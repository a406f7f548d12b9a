from __future__ import annotations

import pytest

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.statistics.comparison import (
    Change,
    compare,
    compare_all,
    largest_changes,
    paired_randomisation,
)
from shrag.evaluation.statistics.intervals import bootstrap_interval

A = {"RR@10": {"q1": 0.5, "q2": 1.0, "q3": 0.0, "q4": 0.2}, "R@5": {"q1": 0.0, "q2": 0.0, "q3": 0.0, "q4": 1.0}}
B = {"RR@10": {"q4": 0.2, "q1": 1.0, "q2": 0.5, "q3": 1.0}, "R@5": {"q1": 1.0, "q2": 1.0, "q3": 1.0, "q4": 1.0}}


def test_means_wins_ties_and_losses_are_counted_by_topic() -> None:
    first, second = compare(A, B)
    assert first.measure == "RR@10"
    assert first[1:4] == pytest.approx((0.425, 0.675, 0.25))
    assert (first.wins, first.ties, first.losses) == (2, 1, 1)
    assert (second.wins, second.ties, second.losses) == (3, 1, 0)
    assert second.interval == bootstrap_interval([1.0, 1.0, 1.0, 0.0])


def test_p_is_exact_and_corrected_over_the_measures() -> None:
    first, second = compare(A, B)
    # Differences +.5 -.5 +1: all sums but 0 are as large as 1: 6 of 8. Differences 1 1 1: 2 of 8.
    assert (first.p, second.p) == (6 / 8, 2 / 8)
    assert (first.p_holm, second.p_holm) == (0.75, 0.5)


def test_several_runs_share_one_correction() -> None:
    found = compare_all(A, {"b": B, "same": A})
    assert [each.p for each in found["same"]] == [1.0, 1.0]
    assert [each.p_holm for each in found["b"]] == [1.0, 1.0]
    assert found["same"][0].interval == (0.0, 0.0)


def test_exchanging_the_runs_turns_the_signs_only() -> None:
    for one, other in zip(compare(A, B), compare(B, A), strict=True):
        assert one.difference == -other.difference
        assert one.p == other.p
        assert (one.wins, one.losses) == (other.losses, other.wins)


def test_the_largest_changes_come_first_and_no_change_is_none() -> None:
    assert largest_changes(A["RR@10"], B["RR@10"], 1) == [Change("q3", 0.0, 1.0)]
    assert [change.qid for change in largest_changes(A["RR@10"], B["RR@10"], 10)] == ["q3", "q1", "q2"]
    assert largest_changes(A["RR@10"], A["RR@10"], 10) == []


def test_many_gains_hide_no_loss_and_many_losses_no_gain() -> None:
    one, other = {f"q{at}": 0.5 for at in range(8)}, {f"q{at}": 1.0 for at in range(6)} | {"q6": 0.4, "q7": 0.3}
    assert [change.qid for change in largest_changes(one, other, 4)] == ["q0", "q1", "q7", "q6"]
    assert [change.qid for change in largest_changes(other, one, 4)] == ["q0", "q1", "q7", "q6"]
    assert [change.qid for change in largest_changes(one, other, 6)] == ["q0", "q1", "q2", "q3", "q7", "q6"]
    assert [change.qid for change in largest_changes(one, other, 1)] == ["q0"]
    assert largest_changes(one, other, 0) == []


def test_other_measures_or_topics_are_refused() -> None:
    with pytest.raises(EvaluationError, match=r"the same measures, got RR@10, R@5 and RR@10"):
        compare(A, {"RR@10": B["RR@10"]})
    with pytest.raises(EvaluationError, match=r"1 have RR@10 in one of them only, such as q4"):
        compare({"RR@10": A["RR@10"]}, {"RR@10": {"q1": 0.1, "q2": 0.1, "q3": 0.1}})
    with pytest.raises(EvaluationError, match="RR@10 has no topic"):
        compare({"RR@10": {}}, {"RR@10": {}})


def test_values_that_only_rounding_makes_differ_are_a_tie() -> None:
    values = [0.1 + number / 100 for number in range(50)]
    assert paired_randomisation(values, [value + 1e-16 * number for number, value in enumerate(values)]) == 1.0
    (difference,) = compare(
        {"R": {str(number): value for number, value in enumerate(values)}},
        {"R": {str(number): value * (1 + 1e-15) for number, value in enumerate(values)}},
    )
    assert (difference.ties, difference.p) == (50, 1.0)


def test_more_exchanges_than_samples_are_drawn_by_the_seed() -> None:
    gains = [0.3, -0.1, 0.2, 0.2, -0.3, 0.1, 0.4, -0.2, 0.1, 0.3, -0.1, 0.2]  # 2^12 exchanges, of which 100 are drawn
    drawn = [[paired_randomisation([0.0] * 12, gains, seed=seed, samples=100) for _ in range(5)] for seed in range(3)]
    assert [len(set(each)) for each in drawn] == [1, 1, 1]
    assert all((101 * each[0]) == pytest.approx(round(101 * each[0])) for each in drawn)
    assert len({each[0] for each in drawn}) > 1
