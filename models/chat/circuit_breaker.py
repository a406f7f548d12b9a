"""Circuit breaker before a language model."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, get_args

from shrag.models.errors import ModelUnavailable
from shrag.models.language_model import Completion, CompletionStream, LanguageModel, Message

CircuitState = Literal["closed", "open"]
"""Closed: the model is asked. Open: it is not, except by :meth:`CircuitModel.check`."""

FAILURES = 3
"""Failures one after another that open the circuit."""

_Kind = Literal["whole", "streamed"]
_KINDS: tuple[_Kind, ...] = get_args(_Kind)

_CANARY = (Message("user", "1"),)


class CircuitModel:
    """Implements :class:`~shrag.models.language_model.LanguageModel` over another.

    :class:`~shrag.models.errors.ModelUnavailable` counts as a failure, anywhere in an answer; a refusal does not, since
    who refuses is there. Whole answers and streamed ones are counted apart: a question needs both, and keywords that
    come each time would hide that no answer does. One success begins the count of its kind anew, and a token for
    :meth:`check` closes the circuit. An answer that the caller gave up counts as neither.
    """

    def __init__(
        self, model: LanguageModel, failures: int = FAILURES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._model = model
        self._limit = failures
        self._clock = clock
        self._lock = threading.Lock()
        self._failures: Counter[_Kind] = Counter()
        self._last_failure = ""
        self._answered = clock()
        self._name = ""
        self._named = False

    @property
    def name(self) -> str:
        """See :class:`~shrag.models.language_model.LanguageModel`.

        A model that has answered is not asked for it again, nor one that fails: that takes a request each time.
        """
        if not (self._named or (self._name and self.state == "open")):
            self._name = self._model.name
        return self._name

    @property
    def known_name(self) -> str:
        """The name as it was last heard, without asking; empty before."""
        return self._name

    @property
    def state(self) -> CircuitState:
        """Whether the model is asked."""
        return "open" if any(count >= self._limit for count in tuple(self._failures.values())) else "closed"

    @property
    def last_failure(self) -> str:
        """What the last failure said, empty where the model has answered since."""
        return self._last_failure

    @property
    def silent_seconds(self) -> float:
        """Seconds since the model last answered, or since this was made."""
        return self._clock() - self._answered

    def complete(
        self, messages: Sequence[Message], schema: Mapping[str, object] | None = None, *, max_tokens: int = 1024
    ) -> Completion:
        """See :class:`~shrag.models.language_model.LanguageModel`."""
        self._refuse_when_open()
        try:
            completion = self._model.complete(messages, schema, max_tokens=max_tokens)
        except ModelUnavailable as error:
            self.failed(error, "whole")
            raise
        self.answered("whole")
        return completion

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> CompletionStream:
        """See :class:`~shrag.models.language_model.LanguageModel`."""
        self._refuse_when_open()
        return self._stream(messages, max_tokens)

    def check(self, seconds: float) -> bool:
        """Ask for one token, also while the circuit is open; return whether it came within ``seconds``.

        What does not come in time is let go of and counts as a failure.
        """
        taken: list[bool] = []
        streams: list[CompletionStream] = []
        given_up = threading.Event()
        done = threading.Event()

        def ask() -> None:
            try:
                streams.append(self._model.stream(_CANARY, max_tokens=1))
                if given_up.is_set():
                    streams[0].close()
                for _ in streams[0]:
                    break
                taken.append(True)
            except Exception as error:  # whatever it is, no token came
                taken.append(not isinstance(error, ModelUnavailable))
            finally:
                for stream in streams:
                    stream.close()
                done.set()

        threading.Thread(target=ask, name="canary", daemon=True).start()
        if done.wait(seconds) and taken[0]:
            self.answered(*_KINDS)
            return True
        given_up.set()
        for stream in streams:
            stream.close()
        self.failed(ModelUnavailable(f"{self.name} gave no token within {seconds:g} s."), "streamed", final=True)
        return False

    def answered(self, *kinds: _Kind) -> None:
        """Count a success of these kinds."""
        with self._lock:
            failed = any(self._failures[kind] for kind in kinds)
            for kind in kinds:
                self._failures[kind] = 0
            self._answered = self._clock()
            if not any(self._failures.values()):
                self._last_failure = ""
        if failed or not self._named:  # behind a failure there may be another model than before
            self._name = self._model.name
            self._named = True

    def failed(self, error: ModelUnavailable, kind: _Kind, *, final: bool = False) -> None:
        """Count a failure; a ``final`` one opens the circuit by itself."""
        with self._lock:
            self._failures[kind] = self._limit if final else self._failures[kind] + 1
            self._last_failure = str(error)

    def _stream(self, messages: Sequence[Message], max_tokens: int) -> CompletionStream:
        try:
            return _Counted(self._model.stream(messages, max_tokens=max_tokens), self)
        except ModelUnavailable as error:
            self.failed(error, "streamed")
            raise

    def _refuse_when_open(self) -> None:
        if self.state == "open":
            raise ModelUnavailable(f"{self._last_failure} It is asked again once it answers.")


class _Counted:
    """Implements :class:`~shrag.models.language_model.CompletionStream`; tells the circuit how it ended."""

    def __init__(self, stream: CompletionStream, circuit: CircuitModel) -> None:
        self._stream = stream
        self._circuit = circuit
        self._closed = False

    def __iter__(self) -> Iterator[str]:
        try:
            yield from self._stream
        except ModelUnavailable as error:
            if not self._closed:
                self._circuit.failed(error, "streamed")
            raise
        if not self._closed:
            self._circuit.answered("streamed")

    def close(self) -> None:
        self._closed = True
        self._stream.close()

    @property
    def completion(self) -> Completion:
        return self._stream.completion
