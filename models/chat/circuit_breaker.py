"""A circuit breaker stops sending requests to a language model that fails repeatedly."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, get_args

from shrag.messages.text import Text, message_of
from shrag.models.errors import ModelRefused, ModelUnavailable
from shrag.models.language_model import Completion, CompletionStream, LanguageModel, Message

CircuitState = Literal["closed", "open"]
"""Closed: requests go to the model. Open: only the requests of :meth:`CircuitBreaker.check` go to the model."""

FAILURE_THRESHOLD = 3
"""How many consecutive failures open the circuit."""

_Kind = Literal["complete", "streamed"]
_KINDS: tuple[_Kind, ...] = get_args(_Kind)

_PROBE_MESSAGES = (Message("user", "1"),)


class CircuitBreaker:
    """Implements :class:`~shrag.models.language_model.LanguageModel` around another language model.

    :class:`~shrag.models.errors.ModelUnavailable` counts as a failure, even in the middle of a stream;
    :class:`~shrag.models.errors.ModelRefused` does not. Complete and streamed responses are counted separately.
    Otherwise, working keyword requests would hide that every answer fails. A success resets the count of its kind, and
    a successful :meth:`check` closes the circuit. A stream that the caller closes is neither a success nor a failure.
    """

    def __init__(
        self, model: LanguageModel, failures: int = FAILURE_THRESHOLD, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._model = model
        self._failure_threshold = failures
        self._clock = clock
        self._lock = threading.Lock()
        self._failures: Counter[_Kind] = Counter()
        self._last_failure = ""
        self._last_answer = clock()
        self._name = ""
        self._name_is_current = False

    @property
    def name(self) -> str:
        """The model's name. It takes a request, so it is cached after a success and while the circuit is open."""
        if not (self._name_is_current or (self._name and self.state == "open")):
            self._name = self._model.name
        return self._name

    @property
    def known_name(self) -> str:
        """The cached name, empty before the first request and after a refusal; reading it never sends a request."""
        return self._name

    @property
    def state(self) -> CircuitState:
        """Whether requests go to the model."""
        return "open" if any(count >= self._failure_threshold for count in tuple(self._failures.values())) else "closed"

    @property
    def last_failure(self) -> str:
        """The message of the last failure; empty once each kind of request that failed has succeeded again."""
        return self._last_failure

    @property
    def seconds_since_answer(self) -> float:
        """The seconds since the model's last success or piece of a stream, or since this object was created."""
        return self._clock() - self._last_answer

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, object] | None = None,
        *,
        max_tokens: int = 1024,
        urgent: bool = False,
    ) -> Completion:
        """See :class:`~shrag.models.language_model.LanguageModel`."""
        self._raise_if_open()
        try:
            completion = self._model.complete(messages, schema, max_tokens=max_tokens, urgent=urgent)
        except ModelUnavailable as error:
            self.record_failure(error, "complete")
            raise
        except ModelRefused:
            self.forget_name()
            raise
        self.record_success("complete")
        return completion

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> CompletionStream:
        """See :class:`~shrag.models.language_model.LanguageModel`."""
        self._raise_if_open()
        try:
            return _MonitoredStream(self._model.stream(messages, max_tokens=max_tokens), self)
        except ModelUnavailable as error:
            self.record_failure(error, "streamed")
            raise
        except ModelRefused:
            self.forget_name()
            raise

    def check(self, seconds: float) -> bool:
        """Request one token, even while the circuit is open; return whether the model answered in time.

        A refusal counts as an answer. Any other error opens the circuit and becomes its last failure. If no token comes
        in time, the request is closed and the circuit opens.
        """
        outcomes: list[Exception | None] = []
        streams: list[CompletionStream] = []
        timed_out = threading.Event()
        done = threading.Event()

        def request_token() -> None:
            try:
                streams.append(self._model.stream(_PROBE_MESSAGES, max_tokens=1))
                if timed_out.is_set():
                    streams[0].close()
                for _ in streams[0]:
                    break
                outcomes.append(None)
            except ModelRefused:
                self.forget_name()
                outcomes.append(None)
            except Exception as error:  # whatever the error is, no token came
                outcomes.append(error)
            finally:
                for stream in streams:
                    stream.close()
                done.set()

        threading.Thread(target=request_token, name="model check", daemon=True).start()
        if done.wait(seconds):
            failure = outcomes[0]
        else:
            timed_out.set()
            for stream in streams:
                stream.close()
            failure = ModelUnavailable(
                Text("{name} gave no token within {seconds:g} s.", name=self.name, seconds=seconds)
            )
        if failure is not None:
            self.record_failure(failure, "streamed", final=True)
            return False
        self.record_success(*_KINDS)
        return True

    def record_success(self, *kinds: _Kind) -> None:
        """Reset the failure counts of ``kinds``."""
        with self._lock:
            recovered = any(self._failures[kind] for kind in kinds)
            for kind in kinds:
                self._failures[kind] = 0
            self._last_answer = self._clock()
            if not any(self._failures.values()):
                self._last_failure = ""
        if recovered or not self._name_is_current:  # after a failure the endpoint may serve another model
            self._name = self._model.name
            self._name_is_current = True

    def record_piece(self) -> None:
        """Note that the model writes. An endpoint that works on one request at a time answers no check meanwhile."""
        self._last_answer = self._clock()

    def record_failure(self, error: Exception, kind: _Kind, *, final: bool = False) -> None:
        """Count a failure of ``kind``; a ``final`` failure opens the circuit at once.

        The message of an unexpected ``error`` is shown with the name of its type.
        """
        with self._lock:
            self._failures[kind] = self._failure_threshold if final else self._failures[kind] + 1
            is_expected = isinstance(error, ModelUnavailable)
            self._last_failure = message_of(error) if is_expected else f"{type(error).__name__}: {error}"

    def forget_name(self) -> None:
        """Forget the model's name after a refusal, since the endpoint may serve another model now."""
        self._name, self._name_is_current = "", False

    def _raise_if_open(self) -> None:
        if self.state == "open":
            raise ModelUnavailable(
                Text("{last_failure} It is used again once it answers a health check.", last_failure=self._last_failure)
            )


class _MonitoredStream:
    """Implements :class:`~shrag.models.language_model.CompletionStream`; records its outcome in the circuit breaker."""

    def __init__(self, stream: CompletionStream, circuit: CircuitBreaker) -> None:
        self._stream = stream
        self._circuit = circuit
        self._closed = False

    def __iter__(self) -> Iterator[str]:
        try:
            for piece in self._stream:
                self._circuit.record_piece()
                yield piece
        except ModelUnavailable as error:
            if not self._closed:
                self._circuit.record_failure(error, "streamed")
            raise
        except ModelRefused:
            self._circuit.forget_name()
            raise
        if not self._closed:
            self._circuit.record_success("streamed")

    def close(self) -> None:
        self._closed = True
        self._stream.close()

    @property
    def completion(self) -> Completion:
        return self._stream.completion
