"""Many who ask one question: the steps are taken once, by whoever needs them."""

from __future__ import annotations

import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor

import pytest

from shrag.serving.concurrency import Asking
from shrag.serving.errors import QuestionAbandoned
from shrag.serving.events import Event, Timings
from shrag.serving.single_flight import Outcome, SingleFlight

EVENTS: list[Event] = [Timings({str(number): float(number)}) for number in range(5)]


class _Work:
    """A question of five events; before the event at ``hold`` it waits to be let on. Knows what was done with it."""

    def __init__(self, hold: int = -1, failure: BaseException | None = None) -> None:
        self.taken = 0
        self.cancelled = self.closed = False
        self.held = threading.Event()
        self.go_on = threading.Event()
        self._hold = hold
        self._failure = failure
        self.outcomes: list[Outcome] = []
        self.shared = SingleFlight(Asking(self._events(), self), lambda _, outcome: self.outcomes.append(outcome))

    def cancel(self) -> None:
        self.cancelled = True
        self.go_on.set()

    def _events(self) -> Generator[Event, None, None]:
        try:
            for number, event in enumerate(EVENTS):
                if number == self._hold:
                    self.held.set()
                    assert self.go_on.wait(20), "nobody let it go on"
                    if self._failure is not None:
                        raise self._failure
                self.taken += 1
                yield event
        finally:
            self.closed = True

    def join(self) -> Asking:
        asking = self.shared.join()
        assert asking is not None
        return asking


def test_all_get_every_event_and_each_step_is_taken_once() -> None:
    work = _Work()
    askings = [work.join() for _ in range(16)]
    with ThreadPoolExecutor(16) as threads:
        assert list(threads.map(list, askings)) == [EVENTS] * 16
    assert (work.taken, work.outcomes, work.cancelled) == (5, [tuple(EVENTS)], False)


def test_one_who_comes_late_gets_what_was_before() -> None:
    work = _Work()
    early = work.join()
    assert [next(early), next(early)] == EVENTS[:2]
    assert list(work.join()) == EVENTS
    assert list(early) == EVENTS[2:]
    assert work.taken == 5


def test_one_who_reads_slowly_holds_nobody_up() -> None:
    work = _Work()
    slow, quick = work.join(), work.join()
    assert next(slow) == EVENTS[0]
    assert list(quick) == EVENTS
    assert list(slow) == EVENTS[1:]


def test_one_who_leaves_in_the_middle_of_a_step_hands_over() -> None:
    work = _Work(hold=2)
    leaving, staying = work.join(), work.join()
    with ThreadPoolExecutor(2) as threads:
        left = threads.submit(list, leaving)
        assert work.held.wait(10)
        stayed = threads.submit(list, staying)
        leaving.cancel()
        work.go_on.set()
        assert stayed.result(10) == EVENTS
        assert left.result(10) == EVENTS[:2]
    assert (work.cancelled, work.outcomes) == (False, [tuple(EVENTS)])


def test_one_who_waits_for_anothers_step_can_leave_at_once() -> None:
    work = _Work(hold=0)
    working, waiting = work.join(), work.join()
    with ThreadPoolExecutor(2) as threads:
        worked = threads.submit(list, working)
        assert work.held.wait(10)
        waited = threads.submit(list, waiting)
        waiting.cancel()
        assert waited.result(10) == []
        assert not work.go_on.is_set()
        work.go_on.set()
        assert worked.result(10) == EVENTS


def test_when_the_last_one_leaves_the_work_is_given_up_and_closed() -> None:
    work = _Work()
    one, other = work.join(), work.join()
    next(one)
    one.close()
    assert not work.cancelled
    other.close()
    other.close()
    assert (work.cancelled, work.closed, work.outcomes) == (True, True, [None])
    assert work.shared.join() is None


def test_when_the_last_one_leaves_in_the_middle_of_a_step_it_is_cancelled_and_closed_behind_it() -> None:
    work = _Work(hold=1)
    asking = work.join()
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(list, asking)
        assert work.held.wait(10)
        asking.cancel()
        assert asked.result(10) == EVENTS[:1]
    assert (work.cancelled, work.closed, work.outcomes) == (True, True, [None])


def test_one_who_never_took_an_event_leaves_too() -> None:
    work = _Work()
    work.join().close()
    assert (work.cancelled, work.outcomes) == (True, [None])


def test_leaving_behind_the_last_event_gives_nothing_up() -> None:
    work = _Work()
    asking = work.join()
    assert list(asking) == EVENTS
    asking.close()
    assert (work.cancelled, work.outcomes) == (False, [tuple(EVENTS)])


def test_a_failure_is_given_to_all_who_wait_and_nobody_joins_it() -> None:
    work = _Work(hold=2, failure=ValueError("broken"))
    askings = [work.join() for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(list, asking) for asking in askings]
        assert work.held.wait(10)
        work.go_on.set()
        for each in asked:
            with pytest.raises(ValueError, match="broken"):
                each.result(10)
    assert (work.taken, work.outcomes) == (2, [None])
    assert work.shared.join() is None


def test_a_thread_that_is_stopped_leaves_the_others_a_failure_and_no_wait() -> None:
    work = _Work(hold=1, failure=KeyboardInterrupt())
    work.go_on.set()
    stopped, other = work.join(), work.join()
    next(stopped)
    with pytest.raises(KeyboardInterrupt):
        next(stopped)
    assert next(other) == EVENTS[0]
    with pytest.raises(QuestionAbandoned, match="ask it again"):
        next(other)
    assert work.outcomes == [None]
