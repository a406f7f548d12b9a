"""A feed of events to the event loop: its slot is given back and its run closed, also where no event was taken."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator

import pytest

from shrag.serving.errors import DeadlineExceeded, Overloaded
from shrag.serving.event_run import EventRun, SingleFlight
from shrag.serving.events import Event, Queries, Timings
from shrag.serving.runtime.admission import AdmissionQueue, Deadline
from shrag.serving.runtime.event_feed import EventFeed, open_feed

EVENTS: tuple[Event, ...] = (Queries(()), Timings({}))


def _run(ended: list[str], *, cached: bool = False) -> EventRun[Event]:
    def events() -> Generator[Event, None, None]:
        yield from EVENTS

    run = EventRun(SingleFlight(events), cached=cached)
    run.on_end(lambda: ended.append("ended"))
    return run


@pytest.mark.parametrize("taken", [0, 1, 2])
def test_however_many_events_were_taken_the_run_is_closed_and_the_slot_free(taken: int) -> None:
    ended: list[str] = []
    queue = AdmissionQueue("ask", 1, 0)

    async def run() -> list[Event | None]:
        feed = await open_feed(_run(ended), 7, queue, Deadline())
        assert queue.busy == 1
        events = feed.events(Deadline())
        got = [await anext(events) for _ in range(taken)]
        await events.aclose()
        feed.leave()
        assert (feed.generation, feed.cached) == (7, False)
        return got

    try:
        assert asyncio.run(run()) == list(EVENTS[:taken])
        assert (ended, queue.busy) == (["ended"], 0)
    finally:
        queue.close()


def test_a_run_that_is_refused_or_cannot_begin_is_closed_and_takes_no_slot() -> None:
    ended: list[str] = []
    queue = AdmissionQueue("ask", 1, 0)

    def fail() -> Generator[Event, None, None]:
        raise ValueError("cannot begin")

    async def run() -> None:
        failing = EventRun(SingleFlight(fail))
        with pytest.raises(ValueError, match="cannot begin"):
            await open_feed(failing, 7, queue, Deadline())
        assert (failing.closed, queue.busy) == (True, 0)
        await queue.enter(Deadline())
        with pytest.raises(Overloaded):
            await open_feed(_run(ended), 7, queue, Deadline())
        assert (ended, queue.busy) == (["ended"], 1)

    asyncio.run(run())
    queue.close()


@pytest.mark.parametrize("held", ["start", "first event"])
def test_a_thread_that_still_works_when_the_deadline_ends_the_stream_keeps_its_slot(held: str) -> None:
    queue = AdmissionQueue("ask", 1, 1)
    release = threading.Event()

    def begin() -> Generator[Event, None, None]:
        if held == "start":
            assert release.wait(30)
        return events()

    def events() -> Generator[Event, None, None]:
        assert release.wait(30)
        yield from EVENTS

    async def answer(run: EventRun[Event]) -> None:
        deadline = Deadline(asyncio.get_running_loop().time() + 0.05, 0.05)
        feed = await open_feed(run, 7, queue, deadline)
        try:
            await anext(feed.events(deadline))
        finally:
            feed.leave()

    async def run() -> None:
        run = EventRun(SingleFlight(begin))
        with pytest.raises(DeadlineExceeded):
            await answer(run)
        assert (run.closed, queue.busy) == (True, 1)
        with pytest.raises(DeadlineExceeded):  # waits for the slot, not for the thread behind it
            await queue.enter(Deadline(asyncio.get_running_loop().time() + 0.05, 0.05))
        release.set()
        await queue.enter(Deadline())
        queue.leave()
        assert queue.busy == 0

    try:
        asyncio.run(run())
    finally:
        release.set()
        queue.close()


def test_the_time_that_streams_take_makes_the_time_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = AdmissionQueue("ask", 1, 0)
    now = 50.0

    async def run() -> None:
        nonlocal now
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
        feed = await open_feed(_run([]), 7, queue, Deadline())
        assert [event async for event in feed.events(Deadline())] == list(EVENTS)
        now += 99.5
        feed.leave()
        await queue.enter(Deadline())
        with pytest.raises(Overloaded) as refused:
            await queue.enter(Deadline())
        assert refused.value.retry_after == 20  # a fifth of the time measured and four fifths of the 0.1 s assumed

    asyncio.run(run())
    queue.close()


def test_a_cached_answer_takes_no_slot_and_is_observed() -> None:
    ended: list[str] = []
    observed: list[Event] = []

    async def run() -> list[Event | None]:
        feed = await open_feed(_run(ended, cached=True), 7, None, Deadline())
        got = [event async for event in feed.events(Deadline(), observed.append)]
        feed.leave()
        assert feed.cached
        return got

    assert asyncio.run(run()) == list(EVENTS) == observed
    assert ended == ["ended"]


def test_a_cached_answer_that_is_read_too_slowly_ends_at_the_deadline() -> None:
    async def run() -> None:
        deadline = Deadline(asyncio.get_running_loop().time() + 0.05, 0.05)
        events = EventFeed(_run([], cached=True), 7, None).events(deadline)
        await anext(events)
        await asyncio.sleep(0.1)
        with pytest.raises(DeadlineExceeded, match=r"0\.05 s"):
            await anext(events)

    asyncio.run(run())
