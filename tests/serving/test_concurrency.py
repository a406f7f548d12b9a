from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from shrag.serving.concurrency import CancellationToken, ProcessorShare, parallel_map, waiting

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


def test_two_are_worked_on_at_once_and_never_more_than_may_be() -> None:
    together = threading.Barrier(2, timeout=10)
    assert parallel_map(lambda number: together.wait() >= 0 and number, [1, 2]) == [1, 2]
    lock, working, most = threading.Lock(), 0, 0

    def work(_: int) -> None:
        nonlocal working, most
        with lock:
            working += 1
            most = max(most, working)
        time.sleep(0.01)
        with lock:
            working -= 1

    parallel_map(work, list(range(24)))
    assert most <= PARALLEL_CALLS


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
    token.on_cancel(lambda: cancelled.append("first"))
    token.on_cancel(lambda: cancelled.append("second"))
    assert cancelled == []
    token.cancel()
    token.on_cancel(lambda: cancelled.append("behind"))
    assert cancelled == ["first", "second", "behind"]
    CancellationToken().cancel()


def _started(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_as_many_threads_compute_at_once_as_there_are_turns() -> None:
    share, lock, computing, most = ProcessorShare(2), threading.Lock(), 0, 0

    def work() -> None:
        nonlocal computing, most
        with lock:
            computing += 1
            most = max(most, computing)
        time.sleep(0.01)
        with lock:
            computing -= 1

    threads = [_started(lambda: share.run(work)) for _ in range(8)]
    for thread in threads:
        thread.join(30)
    assert (computing, most) == (0, 2)


def test_turns_are_not_counted_while_there_is_no_limit_and_who_waits_goes_on_at_the_end_of_one() -> None:
    limited, ends, begun = True, [threading.Event() for _ in range(3)], []
    share = ProcessorShare(1, is_limited=lambda: limited)

    def work(number: int) -> None:
        begun.append(number)
        assert ends[number].wait(30)

    threads = []
    for number in range(3):
        threads.append(_started(lambda number=number: share.run(lambda: work(number))))  # type: ignore[misc]
        while not begun:
            time.sleep(0.001)
    time.sleep(0.05)
    assert begun == [0]
    limited = False
    ends[0].set()
    while len(begun) < 3:
        time.sleep(0.001)
    for end in ends:
        end.set()
    for thread in threads:
        thread.join(30)


def test_a_turn_is_given_up_while_its_thread_waits_and_taken_again_behind_that() -> None:
    share, go_on, order = ProcessorShare(1), threading.Event(), []

    def wait() -> None:
        with waiting():
            order.append("waits")
            assert go_on.wait(30)
        order.append("computes")

    waits = _started(lambda: share.run(wait))
    while not order:
        time.sleep(0.001)

    def compute() -> None:
        go_on.set()
        time.sleep(0.1)  # the other would compute in this time if it had not to wait for the turn
        order.append("has the turn")

    share.run(compute)
    waits.join(30)
    assert order == ["waits", "has the turn", "computes"]


def test_a_turn_is_given_back_by_work_that_fails_also_while_it_waits() -> None:
    share = ProcessorShare(1)

    def fail() -> None:
        with waiting():
            raise ValueError("away")

    for _ in range(3):
        with pytest.raises(ValueError, match="away"):
            share.run(fail)
    assert share.run(lambda: 7) == 7


def test_what_is_worked_on_in_parallel_takes_turns_too_and_needs_no_more_than_one() -> None:
    share, computing = ProcessorShare(1), 0

    def work(number: int) -> list[int]:
        nonlocal computing
        computing += 1
        time.sleep(0.005)
        assert computing == 1
        computing -= 1
        return parallel_map(lambda inner: number + inner, [1, 2])

    assert share.run(lambda: parallel_map(work, [10, 20, 30])) == [[11, 12], [21, 22], [31, 32]]


def test_without_a_share_nothing_is_given_up() -> None:
    with waiting():
        assert parallel_map(lambda number: number, [1, 2]) == [1, 2]
