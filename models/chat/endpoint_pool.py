"""A pool of endpoints that serve the same model.

The pool checks the endpoints, sends each request to the least loaded one, and tries a failed request at another one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from shrag.messages.text import Text, message_of
from shrag.models.chat.circuit_breaker import CircuitBreaker, CircuitState
from shrag.models.chat.endpoint import Address, EndpointHealth
from shrag.models.errors import ModelRefused, ModelUnavailable
from shrag.models.language_model import Completion, CompletionStream, LanguageModel, Message

_MOST_TRIES = 2
"""How many endpoints a request is sent to, one after the other, before its first text."""


class PoolTimes(NamedTuple):
    """The times of the checks in seconds.

    ``check`` is the time between two checks, and ``answer`` the time allowed for the answer to one. An endpoint without
    a problem is not checked within ``trust`` seconds of its last answer.
    """

    check: float = 2.0
    trust: float = 30.0
    answer: float = 5.0


class PoolMember(LanguageModel, Protocol):
    """A language model at one address."""

    @property
    def address(self) -> Address:
        """The address of the endpoint."""

    def health(self, seconds: float = 5.0) -> EndpointHealth:
        """Probe the endpoint; raises as :func:`~shrag.models.chat.endpoint_probe.probe` does."""

    def close(self) -> None:
        """Close the connections to the endpoint."""


class EndpointStatus(NamedTuple):
    """The status of an endpoint.

    ``host`` is its host and port, or its socket. ``problem`` says why it gets no requests; it is empty if it gets them.
    ``in_flight`` counts this process's requests that it works on. ``failures`` counts those that failed there since the
    start.
    """

    host: str
    in_flight: int
    failures: int
    problem: str


class EndpointPool:
    """Implements :class:`~shrag.models.language_model.LanguageModel` over several endpoints of one model.

    A request goes to the endpoint with the fewest requests of this process; equally loaded endpoints take turns. If the
    request fails before its first text, it is sent once more, to another endpoint.

    An endpoint gets no requests while its :class:`~shrag.models.chat.circuit_breaker.CircuitBreaker` is open, or while
    it serves another model than the first endpoint that works. It gets requests again after a successful check. The
    first request starts the checks and waits for the first check of each endpoint; :meth:`close` ends the checks.
    """

    def __init__(self, members: Sequence[PoolMember], times: PoolTimes | None = None) -> None:
        self._endpoints = [_Endpoint(member) for member in members]
        self._times = times or PoolTimes()
        self._lock = threading.Lock()
        self._turn = 0
        self._starting = threading.Lock()
        self._is_started = False
        self._closed = threading.Event()

    @property
    def name(self) -> str:
        """See :class:`~shrag.models.language_model.LanguageModel`; names the addresses while no endpoint works."""
        self._start()
        addresses = ", ".join(each.member.address.given for each in self._endpoints)
        return self.known_name or f"the model at {addresses}"

    @property
    def known_name(self) -> str:
        """The model's name by the last checks, empty before the first check; reading it never sends a request."""
        return next((each.served for each in self._endpoints if each.served and each.circuit.state == "closed"), "")

    @property
    def state(self) -> CircuitState:
        """Open if every endpoint has a problem."""
        return "open" if all(map(self._problem, self._endpoints)) else "closed"

    @property
    def last_failure(self) -> str:
        """The problem of the first endpoint that has a problem; empty if none has."""
        return next(filter(None, map(self._problem, self._endpoints)), "")

    @property
    def statuses(self) -> tuple[EndpointStatus, ...]:
        """The status of each endpoint, in the order of the settings."""
        return tuple(
            EndpointStatus(each.member.address.host, each.in_flight, each.failures, self._problem(each))
            for each in self._endpoints
        )

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, object] | None = None,
        *,
        max_tokens: int = 1024,
        urgent: bool = False,
    ) -> Completion:
        """See :class:`~shrag.models.language_model.LanguageModel`."""
        tried: list[_Endpoint] = []
        while True:
            endpoint = self.acquire(tried)
            try:
                return endpoint.circuit.complete(messages, schema, max_tokens=max_tokens, urgent=urgent)
            except ModelUnavailable:
                if not self.may_retry(tried):
                    raise
            except ModelRefused:
                endpoint.needs_check = True  # it may serve another model now
                raise
            finally:
                self.release(endpoint)

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> CompletionStream:
        """See :class:`~shrag.models.language_model.LanguageModel`."""
        return _PoolStream(self, messages, max_tokens)

    def close(self) -> None:
        """End the checks and close the connections."""
        self._closed.set()
        for each in self._endpoints:
            each.member.close()

    def acquire(self, tried: list[_Endpoint]) -> _Endpoint:
        """Return the least loaded endpoint that is not in ``tried``, and add it to ``tried``.

        The caller must :meth:`release` it. If no endpoint is left, raises :class:`ModelUnavailable`, or
        :class:`ModelRefused` if all endpoints are up but would refuse the request.
        """
        self._start()
        with self._lock:
            free = self._others(tried)
            if not free:
                raise self._none_works()
            count = len(self._endpoints)
            position = min(free, key=lambda at: (self._endpoints[at].in_flight, (at - self._turn) % count))
            self._turn = position + 1
            endpoint = self._endpoints[position]
            endpoint.in_flight += 1
        tried.append(endpoint)
        return endpoint

    def release(self, endpoint: _Endpoint) -> None:
        """Count one request less in flight at ``endpoint``."""
        with self._lock:
            endpoint.in_flight -= 1

    def may_retry(self, tried: list[_Endpoint]) -> bool:
        """Count a failure of the endpoint that was tried last; return whether another endpoint may be tried."""
        with self._lock:
            tried[-1].failures += 1
            return len(tried) < _MOST_TRIES and bool(self._others(tried))

    def _others(self, tried: list[_Endpoint]) -> list[int]:
        """Return the positions of the endpoints that work and were not tried."""
        return [at for at, each in enumerate(self._endpoints) if each not in tried and not self._problem(each)]

    def _none_works(self) -> ModelUnavailable | ModelRefused:
        away = [each for each in self._endpoints if each.circuit.state == "open"]
        if away or not self.last_failure:
            why = away[0].circuit.last_failure if away else Text("Every endpoint of the language model failed.")
            return ModelUnavailable(
                Text("{last_failure} It is used again once it answers a health check.", last_failure=why)
            )
        return ModelRefused(self.last_failure)

    def _problem(self, endpoint: _Endpoint) -> str:
        """Return why the endpoint gets no requests; empty if it gets them."""
        if endpoint.circuit.state == "open":
            return endpoint.circuit.last_failure
        expected = self.known_name
        if endpoint.refusal or endpoint.served in {"", expected}:
            return endpoint.refusal
        return Text(
            "{where} serves {model} instead of {expected}, which the others serve: all addresses of [llm] url must "
            "serve the same model.",
            where=endpoint.member.address.given,
            model=endpoint.served,
            expected=expected,
        )

    def _start(self) -> None:
        """Start the checks, with a thread for each endpoint, and wait for the first check of each."""
        with self._starting:
            if self._is_started:
                return
            for each in self._endpoints:
                threading.Thread(target=self._watch, args=(each,), name="endpoint check", daemon=True).start()
            for each in self._endpoints:
                each.is_checked.wait(2 * self._times.answer)
            self._is_started = True

    def _watch(self, endpoint: _Endpoint) -> None:
        endpoint.ask_model(self._times.answer)
        endpoint.is_checked.set()
        while not self._closed.wait(self._times.check):
            is_silent = endpoint.circuit.state == "open" or endpoint.circuit.seconds_since_answer >= self._times.trust
            if (is_silent or endpoint.needs_check or self._problem(endpoint)) and (
                endpoint.ask_model(self._times.answer) and is_silent
            ):
                endpoint.circuit.check(self._times.answer)


class _Endpoint:
    """One address, its circuit breaker, and the result of its last check.

    ``served`` is the model's name, empty if not known. ``refusal`` says why a request would be refused.
    """

    def __init__(self, member: PoolMember) -> None:
        self.member = member
        self.circuit = CircuitBreaker(member)
        self.in_flight = 0
        self.failures = 0
        self.served = ""
        self.refusal = ""
        self.needs_check = False
        self.is_checked = threading.Event()

    def ask_model(self, seconds: float) -> bool:
        """Ask the endpoint which model it serves; return whether it serves a model."""
        self.needs_check = False
        try:
            self.served, self.refusal = self.member.health(seconds).model, ""
        except ModelRefused as refusal:
            self.served, self.refusal = "", message_of(refusal)
        except Exception as error:  # whatever the error is, the endpoint is checked again
            self.circuit.record_failure(error, "streamed", final=True)
            return False
        return not self.refusal


class _PoolStream:
    """Implements :class:`~shrag.models.language_model.CompletionStream`; one thread reads, any thread may close."""

    def __init__(self, pool: EndpointPool, messages: Sequence[Message], max_tokens: int) -> None:
        self._pool = pool
        self._messages = messages
        self._max_tokens = max_tokens
        self._tried: list[_Endpoint] = []
        self._lock = threading.Lock()
        self._closed = False
        self._endpoint: _Endpoint | None = None
        self._stream = self._open()
        self._pieces = self._read()

    def __iter__(self) -> Iterator[str]:
        return self._pieces

    @property
    def completion(self) -> Completion:
        return self._stream.completion

    def close(self) -> None:
        with self._lock:
            self._closed = True
            stream = self._stream
        stream.close()
        self._release()

    def _open(self) -> CompletionStream:
        while True:
            endpoint = self._pool.acquire(self._tried)
            try:
                stream = endpoint.circuit.stream(self._messages, max_tokens=self._max_tokens)
            except BaseException as error:
                self._pool.release(endpoint)
                if isinstance(error, ModelRefused):
                    endpoint.needs_check = True  # only the check itself takes the mark away
                if isinstance(error, ModelUnavailable) and self._pool.may_retry(self._tried):
                    continue
                raise
            with self._lock:
                self._endpoint = endpoint
            return stream

    def _read(self) -> Iterator[str]:
        has_text = False
        try:
            while True:
                try:
                    for piece in self._stream:
                        has_text = True
                        yield piece
                except ModelUnavailable:
                    if not self._pool.may_retry(self._tried) or has_text:
                        raise
                else:
                    return
                self._send_again()
        finally:
            self._release()

    def _send_again(self) -> None:
        """Send the request to another endpoint; close the new stream at once if this one was closed meanwhile."""
        self._stream.close()
        self._release()
        stream = self._open()
        with self._lock:
            self._stream = stream
            closed = self._closed
        if closed:
            self.close()

    def _release(self) -> None:
        with self._lock:
            endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            self._pool.release(endpoint)
