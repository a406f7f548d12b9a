from __future__ import annotations

import pytest

from shrag.evaluation.reports.timings import summarise_times


def test_a_question_takes_the_sum_of_its_stages() -> None:
    stages = [{"search": 0.1 * number, "ranking": 0.1} for number in range(1, 21)]
    times = summarise_times("s/or", [*stages, {}], 40)
    assert (times.part, times.questions, times.tokens) == ("s/or", 20, 40)
    assert times.mean == pytest.approx(1.15)
    assert times.median == pytest.approx(1.15)
    assert times.p95 == pytest.approx(2.0)
    assert times.stages == {"search": pytest.approx(1.05), "ranking": pytest.approx(0.1)}


@pytest.mark.parametrize(("count", "place"), [(1, 1), (2, 2), (19, 19), (20, 19), (21, 20), (100, 95)])
def test_the_95th_percentile_is_the_nearest_rank(count: int, place: int) -> None:
    times = summarise_times("p", [{"search": float(number)} for number in range(1, count + 1)], 0)
    assert times.p95 == place


def test_no_times_are_zero() -> None:
    assert summarise_times("p", [], 0).mean == 0.0
    assert summarise_times("p", [{}], 0).stages == {}
