"""Per-request model wrapper: fail fast, cancel; fallback events."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from shrag.models.errors import InvalidOutput, ModelError, ModelRefused, ModelUnavailable
from shrag.models.language_model import Completion, CompletionStream, LanguageModel, Message
from shrag.serving.errors import PlanSpent, UnusableOutput
from shrag.serving.events import CutShort, Event, Fallback, ModelCall, Purpose


class OneQuestion:
    """Implements :class:`~shrag.models.language_model.LanguageModel` for as long as a question is worked on.

    Trying a model that is away takes as long as its retries and timeouts do; the stages behind the first one that
    found it away fail at once, with the same words.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._away: ModelUnavailable | None = None
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
        self._fail_again()
        try:
            return self._model.complete(messages, schema, max_tokens=max_tokens)
        except ModelUnavailable as error:
            self._away = error
            raise

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> CompletionStream:
        """See :class:`~shrag.models.language_model.LanguageModel`."""
        self._fail_again()
        try:
            stream = self._model.stream(messages, max_tokens=max_tokens)
        except ModelUnavailable as error:
            self._away = error
            raise
        with self._lock:
            self._streams.append(stream)
            cancelled = self._away is not None
        if cancelled:
            stream.close()
        return _Watched(stream, self)

    def cancel(self) -> None:
        """Let go of what is being written, and ask for nothing more; from any thread."""
        with self._lock:
            self._away = ModelUnavailable("The question was withdrawn: ask it again.")
            streams = list(self._streams)
        for stream in streams:
            stream.close()

    def note(self, error: ModelUnavailable) -> None:
        """Remember that the model went away in the middle of a stream."""
        self._away = error

    def _fail_again(self) -> None:
        if self._away is not None:
            raise ModelUnavailable(str(self._away))


class _Watched:
    """Implements :class:`~shrag.models.language_model.CompletionStream`."""

    def __init__(self, stream: CompletionStream, model: OneQuestion) -> None:
        self._stream = stream
        self._model = model

    def __iter__(self) -> Iterator[str]:
        try:
            yield from self._stream
        except ModelUnavailable as error:
            self._model.note(error)
            raise

    def close(self) -> None:
        self._stream.close()

    @property
    def completion(self) -> Completion:
        return self._stream.completion


_Made = TypeVar("_Made")


def fallen_back(stage: Purpose, error: ModelError) -> list[Event]:
    """Return what is told of doing ``stage`` without the model because of ``error``: it failed, or a plan has run out.

    Calls whose answers cannot be used come before that.
    """
    if isinstance(error, PlanSpent):
        return [CutShort(error.spent, error.allowed)]
    if isinstance(error, InvalidOutput):
        calls = error.calls if isinstance(error, UnusableOutput) else ()
        return [*calls, Fallback(stage, "invalid_output", str(error))]
    return [Fallback(stage, "refused" if isinstance(error, ModelRefused) else "unavailable", str(error))]


def attempt(stage: Purpose, work: Callable[[], tuple[_Made, list[ModelCall]]]) -> tuple[_Made | None, list[Event]]:
    """Return what ``work`` makes with a model, None where that fails, and what is to be told of it."""
    try:
        made, calls = work()
    except ModelError as error:
        return None, fallen_back(stage, error)
    return made, [*calls]
