from __future__ import annotations

import threading

import pytest

from shrag.serving.concurrency import CancellationToken, parallel_map

# Written out, so that a change of the module's own is noticed.
PARALLEL_CALLS = 4


def test_what_is_made_comes_in_the_order_of_what_it_was_made_of() -> None:
    assert parallel_map(lambda number: -number, list(range(20))) == [-number for number in range(20)]
    assert parallel_map(lambda number: -number, []) == []


def test_one_alone_is_worked_on_by_who_asks() -> None:
    assert parallel_map(lambda _: threading.current_thread(), [1]) == [threading.current_thread()]


def test_as_many_are_worked_on_at_once_as_may_be() -> None:
    together = threading.Barrier(PARALLEL_CALLS, timeout=10)
    assert parallel_map(lambda number: together.wait() >= 0 and number, [1, 2, 3, 4]) == [1, 2, 3, 4]


def test_what_goes_wrong_first_in_their_order_is_raised() -> None:
    def work(number: int) -> int:
        if number > 1:
            raise ValueError(str(number))
        return number

    with pytest.raises(ValueError, match=r"^2$"):
        parallel_map(work, [1, 2, 3])


def test_a_token_cancels_what_is_there_and_what_comes_afterwards() -> None:
    cancelled: list[str] = []
    token = CancellationToken()
    token.on_cancel(lambda: cancelled.append("before"))
    assert cancelled == []
    token.cancel()
    token.on_cancel(lambda: cancelled.append("behind"))
    assert cancelled == ["before", "behind"]
    CancellationToken().cancel()
