"""The places that a server of either kind works in: for how long, until when, and what is counted."""

from __future__ import annotations

import asyncio
import threading

import pytest

from shrag.serving.errors import ClientLeft, DeadlineExceeded, Overloaded, Stopping
from shrag.serving.limits import Limits
from shrag.serving.places import Places

REJECTED = 'shrag_rejections_total{{reason="{}"}} 1.0'


def test_a_server_that_is_going_begins_nothing_and_says_when_it_may_be_back() -> None:
    async def run() -> None:
        places = Places()
        places.drain()
        with pytest.raises(Stopping, match=r"The server is being stopped: ask again once it is back\.") as told:
            await places.run(places.searches, lambda: pytest.fail("it was begun"))
        assert told.value.retry_after == 5
        assert REJECTED.format("stopping") in places.scrape().decode()
        places.close_gates()

    asyncio.run(run())


def test_what_runs_when_the_server_is_told_to_end_is_given_up_and_told_so() -> None:
    async def run() -> None:
        places = Places()
        release, given_up = threading.Event(), threading.Event()
        running = asyncio.create_task(places.run(places.asks, release.wait, give_up=given_up.set))
        await asyncio.sleep(0.05)
        assert places.in_flight == 1
        assert 'shrag_requests_running{stage="ask"} 1.0' in places.scrape().decode()
        places.drain()
        await asyncio.sleep(0.05)
        assert not running.done()  # what was begun goes on until then
        places.end()
        with pytest.raises(Stopping):
            await running
        assert given_up.is_set()
        release.set()
        places.close_gates()

    asyncio.run(run())


def test_a_request_is_waited_for_until_its_deadline_or_until_its_client_leaves() -> None:
    async def left() -> bool:
        return True

    async def run() -> None:
        places = Places(Limits(searches=2, queued_searches=0, deadline=0.1))
        release = threading.Event()
        with pytest.raises(DeadlineExceeded, match=r"within 0\.1 s"):
            await places.run(places.searches, release.wait)
        slow = Places(Limits(searches=1, queued_searches=0))
        with pytest.raises(ClientLeft):
            await slow.run(slow.searches, release.wait, left)
        with pytest.raises(Overloaded):  # the place is free once the thread is
            await slow.run(slow.searches, release.wait)
        release.set()
        assert REJECTED.format("deadline_exceeded") in places.scrape().decode()
        assert REJECTED.format("overloaded") in slow.scrape().decode()
        assert REJECTED.format("client_left") not in slow.scrape().decode()
        for each in (places, slow):
            each.close_gates()

    asyncio.run(run())
