from __future__ import annotations

import pytest

from shrag.serving.limits import Limits, searches_at_once


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ({"searches": 0}, "searches is 0 and must be at least 1"),
        ({"asks": 0}, "asks is 0 and must be at least 1"),
        ({"queued_searches": -1}, "queued_searches is -1 and must not be below 0"),
        ({"queued_asks": -1}, "queued_asks is -1 and must not be below 0"),
        ({"deadline": 0.0}, r"deadline is 0\.0 and must be above 0"),
    ],
)
def test_a_limit_that_serves_nobody_is_refused_by_name(limits: dict[str, int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Limits(**limits)


def test_searches_have_at_least_four_places_and_as_many_as_may_wait_for_a_model() -> None:
    assert Limits().searches >= 4
    assert searches_at_once(1_000) == 4
    assert searches_at_once(1_000, waiting=16) == 16
    assert searches_at_once(1_000, waiting=2) == 4
