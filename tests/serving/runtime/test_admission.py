"""Admission control: the queue, its order and limits, deadlines."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from functools import partial

import pytest

from shrag.serving.concurrency import waiting
from shrag.serving.errors import ClientDisconnected, DeadlineExceeded, Overloaded, ShuttingDown
from shrag.serving.runtime.admission import AdmissionControl, AdmissionQueue, Deadline, ServerLimits, searches_at_once


def test_what_is_one_too_many_is_refused_at_once_and_told_when_to_come_back() -> None:
    async def run() -> tuple[float, int]:
        queue = AdmissionQueue("test", slots=2, queue=3)
        release = threading.Event()
        running = [asyncio.create_task(queue.run(release.wait, Deadline())) for _ in range(5)]
        await asyncio.sleep(0.05)
        assert (queue.busy, queue.queued) == (2, 3)
        started = time.perf_counter()
        with pytest.raises(Overloaded) as refused:
            await queue.run(release.wait, Deadline())
        seconds = time.perf_counter() - started
        release.set()
        assert all(await asyncio.gather(*running))
        await asyncio.sleep(0)
        assert (queue.busy, queue.queued) == (0, 0)
        queue.close()
        return seconds, refused.value.retry_after

    seconds, retry_after = asyncio.run(run())
    assert seconds < 1  # 50 ms are promised: a machine with other work may take longer
    assert 1 <= retry_after <= 60


def test_after_a_refusal_half_as_many_may_wait_until_a_second_without_one_has_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0

    async def run() -> None:
        nonlocal now
        queue = AdmissionQueue("test", slots=1, queue=5)
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
        waiting = deque[asyncio.Task[None]]()
        refused: list[str] = []

        async def asks() -> bool:
            """Return whether one more is admitted."""
            task = asyncio.create_task(queue.enter(Deadline()))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            if task.done() and (error := task.exception()) is not None:
                refused.append(str(error))
                return False
            waiting.append(task)
            return True

        assert [await asks() for _ in range(7)] == [True] * 6 + [False]
        queue.leave()
        queue.leave()
        assert (queue.queued, await asks()) == (3, False)
        assert refused == [
            "1 requests are running and 5 are waiting, and at most 5 may wait now: ask again later.",
            "1 requests are running and 3 are waiting, and at most 3 may wait now: ask again later.",
        ]
        queue.leave()
        assert [await asks() for _ in range(2)] == [True, False]
        now = 0.9
        assert not await asks()
        now = 1.8  # nine tenths after the last refusal
        assert not await asks()
        now = 2.8
        assert [await asks() for _ in range(3)] == [True, True, False]
        monkeypatch.undo()
        while queue.busy:
            queue.leave()
        await asyncio.gather(*waiting)
        queue.close()

    asyncio.run(run())


def test_those_who_wait_are_served_in_the_order_they_came_and_never_more_at_once_than_places() -> None:
    at_once, most, order = 0, 0, []
    lock = threading.Lock()

    def work(number: int) -> None:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
            order.append(number)
        time.sleep(0.005)
        with lock:
            at_once -= 1

    async def run() -> None:
        queue = AdmissionQueue("test", slots=3, queue=100)
        await asyncio.gather(*(queue.run(partial(work, number), Deadline()) for number in range(40)))
        queue.close()

    asyncio.run(run())
    assert most == 3
    assert sorted(order) == list(range(40))
    assert all(abs(place - number) <= 3 for place, number in enumerate(order))


def test_a_deadline_ends_the_waiting_and_the_work_that_goes_on_keeps_its_place() -> None:
    async def run() -> None:
        queue = AdmissionQueue("test", slots=1, queue=5)
        release, given_up = threading.Event(), threading.Event()
        loop = asyncio.get_running_loop()
        with pytest.raises(DeadlineExceeded, match=r"within 0\.1 s"):
            await queue.run(release.wait, Deadline(loop.time() + 0.1, 0.1), given_up.set)
        assert given_up.is_set()
        assert queue.busy == 1
        with pytest.raises(DeadlineExceeded):
            await queue.run(release.wait, Deadline(loop.time() + 0.1, 0.1))
        assert queue.queued == 0
        release.set()
        assert await queue.run(lambda: 7, Deadline()) == 7
        queue.close()

    asyncio.run(run())


def test_who_is_cancelled_while_waiting_takes_no_place_with_them() -> None:
    async def run() -> None:
        queue = AdmissionQueue("test", slots=1, queue=50)
        release = threading.Event()
        first = asyncio.create_task(queue.run(release.wait, Deadline()))
        await asyncio.sleep(0.02)
        waiting = [asyncio.create_task(queue.run(lambda: None, Deadline())) for _ in range(20)]
        await asyncio.sleep(0.02)
        release.set()
        for task in waiting[::2]:
            task.cancel()
        await asyncio.gather(first, *waiting, return_exceptions=True)
        await asyncio.sleep(0.02)
        assert (queue.busy, queue.queued) == (0, 0)
        queue.close()

    asyncio.run(run())


def test_a_client_that_left_and_a_server_that_stops_are_reasons_not_to_wait() -> None:
    async def left() -> bool:
        return True

    async def run() -> None:
        queue = AdmissionQueue("test", slots=1, queue=5)
        release = threading.Event()
        with pytest.raises(ClientDisconnected):
            await queue.run(release.wait, Deadline(is_disconnected=left))
        with pytest.raises(ShuttingDown):
            await queue.run(release.wait, Deadline(stopped=lambda: True))
        release.set()
        queue.close()

    asyncio.run(run())


def test_a_failure_in_the_thread_is_the_callers_and_frees_the_place() -> None:
    def fail() -> None:
        raise KeyError("x")

    async def run() -> None:
        queue = AdmissionQueue("test", slots=1, queue=0)
        for _ in range(3):
            with pytest.raises(KeyError):
                await queue.run(fail, Deadline())
            await asyncio.sleep(0)
        assert queue.busy == 0
        queue.close()

    asyncio.run(run())


def test_times_measured_make_the_time_to_come_back() -> None:
    queue = AdmissionQueue("test", slots=2, queue=0)
    for _ in range(50):
        queue.leave(10.0)
        queue._busy += 1
    assert queue._retry_after() == 5
    queue.close()


def test_a_single_time_counts_for_a_fifth_of_the_average() -> None:
    queue = AdmissionQueue("test", slots=1, queue=0)
    estimates = []
    for seconds in (100.0, 0.0, 100.0, 1e6):
        queue.leave(seconds)
        estimates.append(queue._retry_after())
    assert estimates == [21, 17, 33, 60]  # 20.08, 16.06 and 32.85 rounded up; never more than a minute
    queue.close()


def test_answers_and_searches_wait_in_queues_of_their_own_lengths() -> None:
    limits = ServerLimits(searches=1, queued_searches=2, asks=1, queued_asks=3)

    async def refused_after(queue: AdmissionQueue) -> int:
        release = threading.Event()
        running = [asyncio.create_task(queue.run(release.wait, Deadline())) for _ in range(10)]
        while sum(task.done() for task in running) + queue.busy + queue.queued < 10:
            await asyncio.sleep(0)
        admitted = queue.busy + queue.queued
        release.set()
        await asyncio.gather(*running, return_exceptions=True)
        return admitted

    async def run() -> tuple[int, int]:
        control = AdmissionControl(limits)
        admitted = await refused_after(control.searches), await refused_after(control.asks)
        control.close_queues()
        return admitted

    assert asyncio.run(run()) == (3, 4)


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
        ServerLimits(**limits)


def test_without_other_limits_sixteen_answers_run_and_a_hundred_and_twenty_eight_wait_for_two_minutes() -> None:
    limits = ServerLimits()
    assert (limits.asks, limits.queued_asks, limits.queued_searches, limits.deadline) == (16, 128, 64, 120.0)


def test_searches_have_at_least_four_places_and_as_many_as_may_wait_for_a_model() -> None:
    assert ServerLimits().searches >= 4
    assert searches_at_once(1_000) == 4
    assert searches_at_once(1_000, waiting=16) == 16
    assert searches_at_once(1_000, waiting=2) == 4


REJECTED = 'shrag_rejections_total{{reason="{}"}} 1.0'


def test_a_server_that_is_going_begins_nothing_and_says_when_it_may_be_back() -> None:
    async def run() -> None:
        admission = AdmissionControl()
        admission.drain()
        assert await admission.run(admission.searches, lambda: "answered") == "answered"
        admission.end()
        with pytest.raises(ShuttingDown, match=r"The server is being stopped: ask again once it is back\.") as told:
            await admission.run(admission.searches, lambda: pytest.fail("it was begun"))
        assert told.value.retry_after == 5
        assert REJECTED.format("shutting_down") in admission.scrape().decode()
        admission.close_queues()

    asyncio.run(run())


def test_what_runs_when_the_server_is_told_to_end_is_cancelled_and_told_so() -> None:
    async def run() -> None:
        admission = AdmissionControl()
        release, cancelled = threading.Event(), threading.Event()
        running = asyncio.create_task(admission.run(admission.asks, release.wait, cancel=cancelled.set))
        await asyncio.sleep(0.05)
        assert admission.in_flight == 1
        assert 'shrag_requests_running{stage="ask"} 1.0' in admission.scrape().decode()
        admission.drain()
        await asyncio.sleep(0.05)
        assert not running.done()  # what was begun goes on until then
        admission.end()
        with pytest.raises(ShuttingDown):
            await running
        assert cancelled.is_set()
        release.set()
        admission.close_queues()

    asyncio.run(run())


def test_a_request_is_waited_for_until_its_deadline_or_until_its_client_leaves() -> None:
    async def left() -> bool:
        return True

    async def run() -> None:
        admission = AdmissionControl(ServerLimits(searches=2, queued_searches=0, deadline=0.1))
        release = threading.Event()
        with pytest.raises(DeadlineExceeded, match=r"within 0\.1 s"):
            await admission.run(admission.searches, release.wait)
        slow = AdmissionControl(ServerLimits(searches=1, queued_searches=0))
        with pytest.raises(ClientDisconnected):
            await slow.run(slow.searches, release.wait, left)
        with pytest.raises(Overloaded):  # the place is free once the thread is
            await slow.run(slow.searches, release.wait)
        release.set()
        assert REJECTED.format("deadline_exceeded") in admission.scrape().decode()
        assert REJECTED.format("overloaded") in slow.scrape().decode()
        assert REJECTED.format("client_disconnected") not in slow.scrape().decode()
        for each in (admission, slow):
            each.close_queues()

    asyncio.run(run())


def test_beside_searches_a_fifth_of_the_threads_that_compute_works_on_answers_at_most() -> None:
    async def run() -> tuple[int, int]:
        control = AdmissionControl(ServerLimits(searches=8, asks=16, computing=4))
        release, computing = threading.Event(), {"search": 0, "ask": 0}
        lock = threading.Lock()

        def work(stage: str) -> None:
            with lock:
                computing[stage] += 1
            assert release.wait(30)

        running = [
            asyncio.create_task(queue.run(partial(work, queue.stage), Deadline()))
            for queue in (control.searches, control.asks)
            for _ in range(8)
        ]
        while sum(computing.values()) < 5:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        counts = computing["search"], computing["ask"]
        release.set()
        await asyncio.gather(*running)
        assert computing == {"search": 8, "ask": 8}
        control.close_queues()
        return counts

    assert asyncio.run(run()) == (4, 1)


def test_without_searches_answers_have_all_of_their_threads() -> None:
    async def run() -> None:
        control = AdmissionControl(ServerLimits(searches=1, asks=16, computing=1))
        together = threading.Barrier(16, timeout=30)
        await asyncio.gather(*(control.asks.run(together.wait, Deadline()) for _ in range(16)))
        control.close_queues()

    asyncio.run(run())


def test_answers_that_wait_for_a_model_leave_the_processors_to_others() -> None:
    async def run() -> None:
        control = AdmissionControl(ServerLimits(searches=1, asks=16, computing=1))
        together = threading.Barrier(16, timeout=30)

        def work() -> int:
            with waiting():
                return together.wait()

        await asyncio.gather(*(control.asks.run(work, Deadline()) for _ in range(16)))
        control.close_queues()

    asyncio.run(run())
