"""The language model of one request, which fails fast after a failure and can be canceled; fallbacks as events."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from shrag.messages.text import Text, message_of
from shrag.models.errors import InvalidOutput, ModelError, ModelRefused, ModelUnavailable
from shrag.models.language_model import Completion, CompletionStream, LanguageModel, Message
from shrag.serving.concurrency import waiting
from shrag.serving.errors import BudgetExceeded, UnusableOutput
from shrag.serving.events import Event, Fallback, ModelCall, Purpose, Truncated

_Result = TypeVar("_Result")


class RequestModel:
    """Implements :class:`~shrag.models.language_model.LanguageModel` for one request.

    An unreachable model costs its retries and timeouts only once: later calls fail at once with the same message.
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
        self,
        messages: Sequence[Message],
        schema: Mapping[str, object] | None = None,
        *,
        max_tokens: int = 1024,
        urgent: bool = False,
    ) -> Completion:
        """See :class:`~shrag.models.language_model.LanguageModel`."""
        self._raise_if_failed()
        with self.remembering_failure(), waiting():
            return self._model.complete(messages, schema, max_tokens=max_tokens, urgent=urgent)

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> CompletionStream:
        """See :class:`~shrag.models.language_model.LanguageModel`."""
        self._raise_if_failed()
        with self.remembering_failure(), waiting():
            stream = self._model.stream(messages, max_tokens=max_tokens)
        with self._lock:
            self._streams.append(stream)
            cancelled = self._failure is not None
        if cancelled:
            stream.close()
        return _RequestStream(stream, self)

    def cancel(self) -> None:
        """Close the open streams and make no more calls. Any thread may call this."""
        with self._lock:
            self._failure = ModelUnavailable(Text("The question was cancelled: ask it again."))
            streams = list(self._streams)
        for stream in streams:
            stream.close()

    @contextmanager
    def remembering_failure(self) -> Iterator[None]:
        """Remember a failure of the model in the block, so that later calls fail at once."""
        try:
            yield
        except ModelUnavailable as error:
            with self._lock:
                self._failure = self._failure or error  # the first is the cause, also if the question was cancelled
            raise

    def _raise_if_failed(self) -> None:
        with self._lock:
            failure = self._failure
        if failure is not None:
            raise ModelUnavailable(message_of(failure))


class _RequestStream:
    """Implements :class:`~shrag.models.language_model.CompletionStream`."""

    def __init__(self, stream: CompletionStream, model: RequestModel) -> None:
        self._stream = stream
        self._model = model

    def __iter__(self) -> Iterator[str]:
        pieces = iter(self._stream)
        while True:
            with self._model.remembering_failure(), waiting():
                piece = next(pieces, None)
            if piece is None:
                return
            yield piece

    def close(self) -> None:
        self._stream.close()

    @property
    def completion(self) -> Completion:
        return self._stream.completion


def fallback_events(stage: Purpose, error: ModelError) -> list[Event]:
    """Return the events that report ``stage`` as done without the model because of ``error``.

    Calls whose output was unusable come first.
    """
    if isinstance(error, BudgetExceeded):
        return [Truncated(error.exhausted, error.allowed)]
    if isinstance(error, InvalidOutput):
        calls = error.calls if isinstance(error, UnusableOutput) else ()
        return [*calls, Fallback(stage, "invalid_output", str(error))]
    return [Fallback(stage, "refused" if isinstance(error, ModelRefused) else "unavailable", str(error))]


def attempt(
    stage: Purpose, model: LanguageModel | None, work: Callable[[LanguageModel], tuple[_Result, list[ModelCall]]]
) -> tuple[_Result | None, list[Event]]:
    """Run ``work`` with the model, and return its result and the events to report.

    Without a model, the result is None and there are no events. If the model fails, the result is None and the events
    are those of the fallback.
    """
    if model is None:
        return None, []
    try:
        result, calls = work(model)
    except ModelError as error:
        return None, fallback_events(stage, error)
    return result, [*calls]
