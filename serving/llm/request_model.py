"""Language model of one request: fails fast once it has failed, can be cancelled; fallbacks as events."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from shrag.models.errors import InvalidOutput, ModelError, ModelRefused, ModelUnavailable
from shrag.models.language_model import Completion, CompletionStream, LanguageModel, Message
from shrag.serving.errors import BudgetExceeded, UnusableOutput
from shrag.serving.events import Event, Fallback, ModelCall, Purpose, Truncated

_Made = TypeVar("_Made")


class RequestModel:
    """Implements :class:`~shrag.models.language_model.LanguageModel` for as long as a request is worked on.

    Trying a model that does not answer takes as long as its retries and timeouts do. The stages behind the first one
    that failed with it fail at once, with the same message.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._failure: ModelUnavailable | None = None
        self._streams: list[CompletionStream] = []
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """See :class:`~shrag.models.language_model.LanguageModel`."""
        return self._model.name

    def complete(
        self, messages: Sequence[Message], schema: Mapping[str, object] | None = None, *, max_tokens: int = 1024
    ) -> Completion:
        """See :class:`~shrag.models.language_model.LanguageModel`."""
        self._raise_if_failed()
        try:
            return self._model.complete(messages, schema, max_tokens=max_tokens)
        except ModelUnavailable as error:
            self._failure = error
            raise

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> CompletionStream:
        """See :class:`~shrag.models.language_model.LanguageModel`."""
        self._raise_if_failed()
        try:
            stream = self._model.stream(messages, max_tokens=max_tokens)
        except ModelUnavailable as error:
            self._failure = error
            raise
        with self._lock:
            self._streams.append(stream)
            cancelled = self._failure is not None
        if cancelled:
            stream.close()
        return _RequestStream(stream, self)

    def cancel(self) -> None:
        """Close what is being written and ask for nothing more; from any thread."""
        with self._lock:
            self._failure = ModelUnavailable("The question was withdrawn: ask it again.")
            streams = list(self._streams)
        for stream in streams:
            stream.close()

    def fail(self, error: ModelUnavailable) -> None:
        """Remember that the model failed in the middle of a stream."""
        self._failure = error

    def _raise_if_failed(self) -> None:
        if self._failure is not None:
            raise ModelUnavailable(str(self._failure))


class _RequestStream:
    """Implements :class:`~shrag.models.language_model.CompletionStream`."""

    def __init__(self, stream: CompletionStream, model: RequestModel) -> None:
        self._stream = stream
        self._model = model

    def __iter__(self) -> Iterator[str]:
        try:
            yield from self._stream
        except ModelUnavailable as error:
            self._model.fail(error)
            raise

    def close(self) -> None:
        self._stream.close()

    @property
    def completion(self) -> Completion:
        return self._stream.completion


def fallback_events(stage: Purpose, error: ModelError) -> list[Event]:
    """Return the events of doing ``stage`` without the model because of ``error``.

    They say that the model failed or that a plan has used up its calls; calls whose answers are not usable come first.
    """
    if isinstance(error, BudgetExceeded):
        return [Truncated(error.exhausted, error.allowed)]
    if isinstance(error, InvalidOutput):
        calls = error.calls if isinstance(error, UnusableOutput) else ()
        return [*calls, Fallback(stage, "invalid_output", str(error))]
    return [Fallback(stage, "refused" if isinstance(error, ModelRefused) else "unavailable", str(error))]


def attempt(stage: Purpose, work: Callable[[], tuple[_Made, list[ModelCall]]]) -> tuple[_Made | None, list[Event]]:
    """Return what ``work`` makes with a model, None where that fails, and the events of it."""
    try:
        made, calls = work()
    except ModelError as error:
        return None, fallback_events(stage, error)
    return made, [*calls]
