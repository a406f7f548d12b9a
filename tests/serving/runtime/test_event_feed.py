"""A streamed answer's place and its events: both are given back, also where nobody took any."""

from __future__ import annotations

import asyncio
from collections.abc import Generator

import pytest

from shrag.serving.concurrency import Asking
from shrag.serving.errors import DeadlineExceeded
from shrag.serving.events import Event, Queries, Timings
from shrag.serving.runtime.admission import AdmissionQueue
from shrag.serving.runtime.deadline import Deadline
from shrag.serving.runtime.event_feed import Answering

EVENTS: tuple[Event, ...] = (Queries(()), Timings({}))


def _asking(ended: list[str], *, cached: bool = False) -> Asking:
    def events() -> Generator[Event, None, None]:
        yield from EVENTS

    return Asking(events(), None, lambda: ended.append("ended"), cached=cached)


@pytest.mark.parametrize("taken", [0, 1, 2])
def test_however_many_events_were_taken_the_question_is_ended_and_the_place_free(taken: int) -> None:
    ended: list[str] = []
    gate = AdmissionQueue("ask", 1, 0)

    async def run() -> list[Event | None]:
        await gate.enter(Deadline())
        answering = Answering(_asking(ended), 7, gate)
        events = answering.feed(Deadline())
        got = [await anext(events) for _ in range(taken)]
        await events.aclose()
        answering.leave()
        assert (answering.generation, answering.cached) == (7, False)
        return got

    try:
        assert asyncio.run(run()) == list(EVENTS[:taken])
        assert (ended, gate.busy) == (["ended"], 0)
    finally:
        gate.close()


def test_a_kept_answer_takes_no_place_and_is_seen() -> None:
    ended: list[str] = []
    seen: list[Event] = []

    async def run() -> list[Event | None]:
        answering = Answering(_asking(ended, cached=True), 7, None)
        got = [event async for event in answering.feed(Deadline(), seen.append)]
        answering.leave()
        assert answering.cached
        return got

    assert asyncio.run(run()) == list(EVENTS) == seen
    assert ended == ["ended"]


def test_a_kept_answer_that_is_read_too_slowly_ends_at_the_deadline() -> None:
    async def run() -> None:
        patience = Deadline(asyncio.get_running_loop().time() + 0.05, 0.05)
        events = Answering(_asking([], cached=True), 7, None).feed(patience)
        await anext(events)
        await asyncio.sleep(0.1)
        with pytest.raises(DeadlineExceeded, match=r"0\.05 s"):
            await anext(events)

    asyncio.run(run())
