from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from shrag.messages.text import Text, in_language
from shrag.models.chat.circuit_breaker import CircuitBreaker
from shrag.models.errors import ModelRefused, ModelUnavailable
from shrag.models.language_model import Completion, Message

# Written out, so that a change of the module's own is noticed.
FAILURE_THRESHOLD = 3

ASKED = [Message("user", "?")]


class _Stream:
    def __init__(self, model: _Model) -> None:
        self._model = model
        self.closed = threading.Event()

    def __iter__(self) -> Iterator[str]:
        yield "a"
        if self._model.hangs:
            self.closed.wait(20)
            raise ModelUnavailable("let go")
        if self._model.fails:
            raise self._model.fails

    def close(self) -> None:
        self.closed.set()

    @property
    def completion(self) -> Completion:
        return Completion("a", "stop", 1, 1, 0.0, 0.0)


class _Model:
    """Fails as it is told to, and counts how often it was asked."""

    name = "fake"

    def __init__(self) -> None:
        self.fails: Exception | None = None
        self.hangs = False
        self.asked = 0

    def complete(
        self, messages: object, schema: object = None, *, max_tokens: int = 1024, urgent: bool = False
    ) -> Completion:
        self.asked += 1
        if self.fails:
            raise self.fails
        return Completion("a", "stop", 1, 1, 0.0, 0.0)

    def stream(self, messages: object, *, max_tokens: int = 1024) -> _Stream:
        self.asked += 1
        if self.hangs and max_tokens == 1:
            time.sleep(1.0)
        elif self.fails and max_tokens == 1:
            raise self.fails
        return _Stream(self)


def _fail(circuit: CircuitBreaker, times: int) -> None:
    for _ in range(times):
        with pytest.raises(ModelUnavailable):
            circuit.complete(ASKED)


def test_three_failures_open_the_circuit_with_the_last_reason() -> None:
    model = _Model()
    model.fails = ModelUnavailable("nobody listens.")
    circuit = CircuitBreaker(model)
    _fail(circuit, FAILURE_THRESHOLD - 1)
    assert circuit.state == "closed"
    _fail(circuit, 1)
    assert (circuit.state, circuit.last_failure, model.asked) == ("open", "nobody listens.", 3)
    _fail(circuit, 5)
    with pytest.raises(ModelUnavailable, match=r"nobody listens\. It is used again"):
        circuit.stream(ASKED)
    assert model.asked == 3


def test_a_success_resets_the_count() -> None:
    model = _Model()
    circuit = CircuitBreaker(model)
    for _ in range(4):
        model.fails = ModelUnavailable("away.")
        _fail(circuit, FAILURE_THRESHOLD - 1)
        model.fails = None
        circuit.complete(ASKED)
    assert (circuit.state, circuit.last_failure) == ("closed", "")


def test_a_refusal_is_no_failure() -> None:
    model = _Model()
    model.fails = ModelRefused("too long a prompt.")
    circuit = CircuitBreaker(model)
    for _ in range(10):
        with pytest.raises(ModelRefused):
            circuit.complete(ASKED)
    assert circuit.state == "closed"


def test_a_broken_stream_counts_and_a_closed_one_does_not() -> None:
    model = _Model()
    model.fails = ModelUnavailable("broke off.")
    circuit = CircuitBreaker(model)
    for _ in range(FAILURE_THRESHOLD):
        with pytest.raises(ModelUnavailable):
            list(circuit.stream(ASKED))
    assert circuit.state == "open"
    model.fails, model.hangs = None, True
    given_up = CircuitBreaker(model)
    for _ in range(FAILURE_THRESHOLD):
        stream = given_up.stream(ASKED)
        pieces = iter(stream)
        next(pieces)
        stream.close()
        with pytest.raises(ModelUnavailable, match="let go"):
            next(pieces)
    assert (given_up.state, given_up.last_failure) == ("closed", "")


def test_a_stream_that_was_given_up_and_ends_without_an_error_is_no_success() -> None:
    now = [100.0]
    model = _Model()
    circuit = CircuitBreaker(model, clock=lambda: now[0])
    model.fails = ModelUnavailable("away.")
    for _ in range(FAILURE_THRESHOLD - 1):
        with pytest.raises(ModelUnavailable, match="away"):
            list(circuit.stream(ASKED))
    model.fails = None
    stream = circuit.stream(ASKED)
    pieces = iter(stream)
    assert next(pieces) == "a"
    stream.close()
    now[0] = 130.0
    assert list(pieces) == []
    assert (circuit.last_failure, circuit.seconds_since_answer) == ("away.", 30.0)
    model.fails = ModelUnavailable("away again.")
    with pytest.raises(ModelUnavailable, match="away again"):
        list(circuit.stream(ASKED))
    assert circuit.state == "open"


def test_a_stream_that_was_read_to_its_end_is_a_success() -> None:
    now = [100.0]
    model = _Model()
    circuit = CircuitBreaker(model, clock=lambda: now[0])
    model.fails = ModelUnavailable("away.")
    with pytest.raises(ModelUnavailable, match="away"):
        list(circuit.stream(ASKED))
    model.fails, now[0] = None, 130.0
    assert list(circuit.stream(ASKED)) == ["a"]
    assert (circuit.last_failure, circuit.seconds_since_answer) == ("", 0.0)


def test_a_check_closes_the_circuit_once_a_token_comes_and_opens_it_when_none_does() -> None:
    model = _Model()
    model.fails = ModelUnavailable("away.")
    circuit = CircuitBreaker(model)
    states = []
    assert not circuit.check(1.0)
    states.append(circuit.state)
    model.fails = None
    assert circuit.check(1.0)
    states.append(circuit.state)
    assert states == ["open", "closed"]


def test_the_check_of_a_hanging_model_times_out_and_closes_its_late_stream() -> None:
    model = _Model()
    model.hangs = True
    circuit = CircuitBreaker(model)
    started = time.monotonic()
    assert not circuit.check(0.1)
    assert time.monotonic() - started < 0.9  # of the second that the model hangs
    assert circuit.last_failure == "fake gave no token within 0.1 s."


@pytest.mark.parametrize(
    ("failure", "told"),
    [(ModelUnavailable("nobody listens."), "nobody listens."), (KeyError("choices"), "KeyError: 'choices'")],
)
def test_a_check_that_fails_at_once_says_how_and_an_unexpected_error_is_no_answer(
    failure: Exception, told: str
) -> None:
    model = _Model()
    model.fails = failure
    circuit = CircuitBreaker(model)
    assert not circuit.check(20.0)
    assert (circuit.state, circuit.last_failure) == ("open", told)


def test_a_refused_check_is_an_answer() -> None:
    model = _Model()
    circuit = CircuitBreaker(model)
    model.fails = ModelUnavailable("away.")
    _fail(circuit, FAILURE_THRESHOLD)
    model.fails = ModelRefused("no such model.")
    assert circuit.check(20.0)
    assert (circuit.state, circuit.last_failure) == ("closed", "")


def test_the_last_failure_can_be_shown_in_korean() -> None:
    model = _Model()
    model.fails = ModelUnavailable(Text("The client closed the connection."))
    circuit = CircuitBreaker(model)
    _fail(circuit, FAILURE_THRESHOLD)
    with pytest.raises(ModelUnavailable) as refused:
        circuit.complete(ASKED)
    assert "The client closed the connection." not in in_language(refused.value, "ko")


class _Remembering(_Model):
    """Keeps its streams."""

    def __init__(self) -> None:
        super().__init__()
        self.streams: list[_Stream] = []

    def stream(self, messages: object, *, max_tokens: int = 1024) -> _Stream:
        stream = super().stream(messages, max_tokens=max_tokens)
        self.streams.append(stream)
        return stream


def test_a_check_closes_its_stream_once_a_token_came() -> None:
    model = _Remembering()
    assert CircuitBreaker(model).check(20.0)
    assert [stream.closed.is_set() for stream in model.streams] == [True]


class _SilentStream(_Stream):
    """Gives no token until it is closed."""

    def __iter__(self) -> Iterator[str]:
        if not self.closed.wait(20):
            yield ""
        raise ModelUnavailable("let go")


class _Silent(_Remembering):
    def stream(self, messages: object, *, max_tokens: int = 1024) -> _Stream:
        self.streams.append(_SilentStream(self))
        return self.streams[-1]


def test_a_check_that_times_out_closes_the_stream_that_gives_no_token() -> None:
    model = _Silent()
    assert not CircuitBreaker(model).check(0.1)
    assert [stream.closed.is_set() for stream in model.streams] == [True]


def test_seconds_are_counted_from_the_last_answer() -> None:
    now = [100.0]
    circuit = CircuitBreaker(_Model(), clock=lambda: now[0])
    now[0] = 130.0
    assert circuit.seconds_since_answer == 30.0
    circuit.complete(ASKED)
    assert circuit.seconds_since_answer == 0.0


def test_each_piece_of_a_stream_shows_that_the_model_works() -> None:
    now = [100.0]
    circuit = CircuitBreaker(_Model(), clock=lambda: now[0])
    pieces = iter(circuit.stream(ASKED))
    now[0] = 130.0
    assert next(pieces) == "a"
    assert circuit.seconds_since_answer == 0.0


def test_the_name_is_cached() -> None:
    circuit = CircuitBreaker(_Model())
    assert circuit.known_name == ""
    assert (circuit.name, circuit.known_name) == ("fake", "fake")


def test_complete_responses_do_not_hide_failing_streams() -> None:
    model = _Model()
    circuit = CircuitBreaker(model)
    for _ in range(FAILURE_THRESHOLD):
        assert circuit.state == "closed"
        circuit.complete(ASKED)
        model.fails = ModelUnavailable("gone")
        with pytest.raises(ModelUnavailable):
            list(circuit.stream(ASKED))
        model.fails = None
    assert (circuit.state, circuit.last_failure) == ("open", "gone")
    with pytest.raises(ModelUnavailable):
        circuit.complete(ASKED)
    assert circuit.check(1)
    assert (circuit.state, circuit.last_failure) == ("closed", "")


class _Probed(_Model):
    """Counts how often it is asked for its name."""

    def __init__(self) -> None:
        super().__init__()
        self.called = "first"
        self.probes = 0

    @property
    def name(self) -> str:  # type: ignore[override]
        self.probes += 1
        return self.called


def test_the_name_is_requested_once_after_a_success() -> None:
    model = _Probed()
    circuit = CircuitBreaker(model)
    assert (circuit.name, circuit.name) == ("first", "first")
    assert model.probes == 2  # it may be the address only: nothing has answered yet
    circuit.complete(ASKED)
    assert ([circuit.name for _ in range(5)], model.probes) == (["first"] * 5, 3)


def test_the_name_is_not_requested_while_open_and_once_after_recovery() -> None:
    model = _Probed()
    circuit = CircuitBreaker(model)
    assert circuit.name == "first"
    model.fails = ModelUnavailable("away")
    for _ in range(FAILURE_THRESHOLD):
        with pytest.raises(ModelUnavailable):
            circuit.complete(ASKED)
    assert ([circuit.name for _ in range(5)], model.probes) == (["first"] * 5, 1)
    model.fails, model.called = None, "second"
    assert circuit.check(5)
    assert ([circuit.name for _ in range(5)], model.probes) == (["second"] * 5, 2)


@pytest.mark.parametrize("way", ["complete", "stream", "reading", "check"])
def test_after_a_refusal_the_name_is_that_of_the_model_served_now(way: str) -> None:
    model = _Model()
    circuit = CircuitBreaker(model)
    circuit.complete(ASKED)
    model.name, model.fails = "other", ModelRefused("The model fake does not exist.")
    assert (circuit.name, circuit.known_name) == ("fake", "fake")
    if way == "check":
        assert circuit.check(5.0)
        assert circuit.known_name == "other"
        return
    # The fake refuses a request of one token at once, any other behind its first text.
    tokens = 1 if way == "stream" else 9
    with pytest.raises(ModelRefused):
        circuit.complete(ASKED) if way == "complete" else list(circuit.stream(ASKED, max_tokens=tokens))
    assert (circuit.known_name, circuit.name) == ("", "other")
    model.fails = None
    circuit.complete(ASKED)
    assert circuit.known_name == "other"


def test_a_stream_that_cannot_be_begun_is_a_failure_that_its_caller_sees() -> None:
    class Away(_Model):
        def stream(self, messages: object, *, max_tokens: int = 1024) -> _Stream:
            assert max_tokens == 7
            raise ModelUnavailable("nobody listens.")

    circuit = CircuitBreaker(Away())
    for _ in range(FAILURE_THRESHOLD):
        assert circuit.state == "closed"
        with pytest.raises(ModelUnavailable, match=r"^nobody listens\.$"):
            circuit.stream(ASKED, max_tokens=7)
    assert circuit.state == "open"
