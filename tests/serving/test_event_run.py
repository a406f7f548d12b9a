"""A run of events: shared by many, taken step by step by whichever needs it, closed from any thread, mapped."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from shrag.models.errors import ModelUnavailable
from shrag.serving.concurrency import ProcessorShare, waiting
from shrag.serving.engine import Engine
from shrag.serving.errors import QuestionAbandoned
from shrag.serving.event_run import EventRun, SingleFlight
from shrag.serving.events import AnswerSentence, Event, Ranking, Timings
from tests.support.scripted_models import ScriptedModel, ScriptedStream, listed

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
        self.outcomes: list[tuple[Event, ...] | None] = []
        self.flight = SingleFlight(self._events, self.cancel, lambda _, events: self.outcomes.append(events))
        self._first: EventRun[Event] | None = EventRun(self.flight)

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

    def run(self) -> EventRun[Event]:
        run, self._first = self._first, None
        run = run or self.flight.subscribe()
        assert run is not None
        return run


def test_all_get_every_event_and_each_step_is_taken_once() -> None:
    work = _Work()
    runs = [work.run() for _ in range(16)]
    with ThreadPoolExecutor(16) as threads:
        assert list(threads.map(list, runs)) == [EVENTS] * 16
    assert (work.taken, work.outcomes, work.cancelled) == (5, [tuple(EVENTS)], False)


def test_one_who_comes_late_gets_what_was_before() -> None:
    work = _Work()
    early = work.run()
    assert [next(early), next(early)] == EVENTS[:2]
    assert list(work.run()) == EVENTS
    assert list(early) == EVENTS[2:]
    assert work.taken == 5


def test_one_who_reads_slowly_holds_nobody_up() -> None:
    work = _Work()
    slow, quick = work.run(), work.run()
    assert next(slow) == EVENTS[0]
    assert list(quick) == EVENTS
    assert list(slow) == EVENTS[1:]


def test_one_who_leaves_in_the_middle_of_a_step_hands_over() -> None:
    work = _Work(hold=2)
    leaving, staying = work.run(), work.run()
    with ThreadPoolExecutor(2) as threads:
        left = threads.submit(list, leaving)
        assert work.held.wait(10)
        stayed = threads.submit(list, staying)
        leaving.close()
        work.go_on.set()
        assert stayed.result(10) == EVENTS
        assert left.result(10) == EVENTS[:2]
    assert (work.cancelled, work.outcomes) == (False, [tuple(EVENTS)])


def test_one_who_waits_for_anothers_step_can_leave_at_once() -> None:
    work = _Work(hold=0)
    working, waiting = work.run(), work.run()
    with ThreadPoolExecutor(2) as threads:
        worked = threads.submit(list, working)
        assert work.held.wait(10)
        waited = threads.submit(list, waiting)
        waiting.close()
        assert waited.result(10) == []
        assert not work.go_on.is_set()
        work.go_on.set()
        assert worked.result(10) == EVENTS


def test_when_the_last_one_leaves_the_work_is_given_up_and_closed() -> None:
    work = _Work()
    one, other = work.run(), work.run()
    next(one)
    one.close()
    assert not work.cancelled
    other.close()
    other.close()
    assert (work.cancelled, work.closed, work.outcomes) == (True, True, [None])
    assert work.flight.subscribe() is None


def test_when_the_last_one_leaves_in_the_middle_of_a_step_it_is_cancelled_and_closed_behind_it() -> None:
    work = _Work(hold=1)
    run = work.run()
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(list, run)
        assert work.held.wait(10)
        run.close()
        assert asked.result(10) == EVENTS[:1]
    assert (work.cancelled, work.closed, work.outcomes) == (True, True, [None])


def test_one_who_never_took_an_event_leaves_too() -> None:
    work = _Work()
    work.run().close()
    assert (work.cancelled, work.outcomes) == (True, [None])


def test_leaving_behind_the_last_event_gives_nothing_up() -> None:
    work = _Work()
    run = work.run()
    assert list(run) == EVENTS
    run.close()
    assert (work.cancelled, work.outcomes) == (False, [tuple(EVENTS)])


def test_a_failure_is_given_to_all_who_wait_and_nobody_joins_it() -> None:
    work = _Work(hold=2, failure=ValueError("broken"))
    runs = [work.run() for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(list, run) for run in runs]
        assert work.held.wait(10)
        work.go_on.set()
        for each in asked:
            with pytest.raises(ValueError, match="broken"):
                each.result(10)
    assert (work.taken, work.outcomes) == (2, [None])
    assert work.flight.subscribe() is None


def test_a_thread_that_is_stopped_leaves_the_others_a_failure_and_no_wait() -> None:
    work = _Work(hold=1, failure=KeyboardInterrupt())
    work.go_on.set()
    stopped, other = work.run(), work.run()
    next(stopped)
    with pytest.raises(KeyboardInterrupt):
        next(stopped)
    assert next(other) == EVENTS[0]
    with pytest.raises(QuestionAbandoned, match="ask it again"):
        next(other)
    assert work.outcomes == [None]


def test_nothing_is_begun_before_it_is_started_and_what_beginning_raises_is_raised_then() -> None:
    def begin() -> Generator[Event, None, None]:
        raise ValueError("cannot begin")

    run = EventRun(SingleFlight(begin))
    with pytest.raises(ValueError, match="cannot begin"):
        run.start()
    assert (run.closed, list(run)) == (True, [])


def test_who_has_left_takes_no_more_events_also_where_others_have_made_some() -> None:
    work = _Work()
    staying, left = work.run(), work.run()
    assert next(staying) == EVENTS[0]
    left.close()
    assert (left.take_all(), list(left)) == ((), [])
    assert staying.take_all() == EVENTS[1:]
    assert staying.take_all() == ()


@pytest.mark.parametrize("taken", [0, 2, 9])
def test_what_is_to_be_called_at_its_end_is_called_once_however_it_ends(taken: int) -> None:
    ends: list[str] = []
    run = _Work().run()
    run.on_end(lambda: ends.append("first"))
    assert [event for event, _ in zip(run, range(taken), strict=False)] == EVENTS[:taken]
    assert ends == (["first"] if taken > len(EVENTS) else [])
    run.close()
    run.close()
    run.on_end(lambda: ends.append("behind"))
    assert ends == ["first", "behind"]


def test_closed_in_the_middle_of_a_step_it_ends_when_the_step_does() -> None:
    ended = threading.Event()
    work = _Work(hold=1)
    other, run = work.run(), work.run()
    run.on_end(ended.set)
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(list, run)
        assert work.held.wait(10)
        run.close()
        assert not ended.is_set()
        work.go_on.set()
        assert asked.result(10) == EVENTS[:1]
    assert ended.is_set()
    assert list(other) == EVENTS


def test_a_mapped_run_begins_ends_and_fails_with_the_one_it_is_made_of() -> None:
    work = _Work()
    run = work.run()
    mapped = run.map(lambda event: [event.event] * (event in EVENTS[1:3]))
    assert list(mapped) == ["timings", "timings"]
    assert (run.closed, work.outcomes) == (True, [tuple(EVENTS)])
    work = _Work()
    mapped = work.run().map(lambda event: [event.event])
    assert next(mapped) == "timings"
    mapped.close()
    assert (work.cancelled, work.closed, work.outcomes) == (True, True, [None])
    work = _Work(hold=1, failure=ValueError("broken"))
    work.go_on.set()
    mapped = work.run().map(lambda event: [event.event])
    with pytest.raises(ValueError, match="broken"):
        list(mapped)


QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"


class _Hanging(ScriptedStream):
    """Writes one piece and then nothing until it is closed; sets ``hangs`` when more is asked for."""

    def __init__(self, hangs: threading.Event) -> None:
        super().__init__([])
        self._hangs = hangs
        self._let_go = threading.Event()

    def __iter__(self) -> Iterator[str]:
        yield "재택근무 갈등을 분석하였다 [1]. 둘째 문장이다 [1]. 셋째"
        self._hangs.set()
        if not self._let_go.wait(20):
            raise AssertionError("nobody let go of the model")
        raise ModelUnavailable("let go")

    def close(self) -> None:
        super().close()
        self._let_go.set()


class _HangingModel(ScriptedModel):
    def __init__(self) -> None:
        super().__init__(listed("재택근무"), listed("work"))
        self.hangs = threading.Event()

    def stream(self, *_: object, **__: object) -> ScriptedStream:
        self.streams.append(_Hanging(self.hangs))
        return self.streams[-1]


def test_closing_from_another_thread_ends_a_model_that_says_nothing(demo: Engine) -> None:
    model = _HangingModel()
    run = Engine(demo.open_index, model).events(QUESTION)

    def close() -> None:
        assert model.hangs.wait(30)
        run.close()

    closing = threading.Thread(target=close)
    closing.start()
    events = list(run)
    closing.join(30)
    assert isinstance(events[-1], AnswerSentence)
    assert model.streams[0].closed


def test_a_closed_run_has_no_further_event_and_asks_no_model(demo: Engine) -> None:
    model = ScriptedModel(listed("재택근무"), listed("work"), ["text"])
    run = Engine(demo.open_index, model).events(QUESTION)
    for event in run:
        if isinstance(event, Ranking):
            run.close()
    assert model.streams == []
    assert list(run) == []


def test_closing_before_the_first_event_does_nothing(demo: Engine) -> None:
    run = demo.events(QUESTION)
    run.close()
    assert list(run) == []


def test_a_run_that_waits_for_anothers_step_leaves_it_the_turn_on_the_processor() -> None:
    share, held, go_on = ProcessorShare(1), threading.Event(), threading.Event()

    def events() -> Generator[Event, None, None]:
        with waiting():
            held.set()
            assert go_on.wait(30)
        yield from EVENTS

    flight = SingleFlight(events)
    first = EventRun(flight)
    second = flight.subscribe()
    assert second is not None
    with ThreadPoolExecutor(2) as threads:
        taken = [threads.submit(share.run, first.take_all)]
        assert held.wait(30)
        taken.append(threads.submit(share.run, second.take_all))
        time.sleep(0.1)  # so that the second has taken the turn that the first gave up
        go_on.set()
        assert [each.result(30) for each in taken] == [EVENTS, EVENTS]
