"""Limit and deduplicate model calls of one plan."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import msgspec

from shrag.models.language_model import Completion, CompletionStream, LanguageModel, Message
from shrag.serving.errors import BudgetExceeded


@dataclass(frozen=True, slots=True)
class Ration:
    """How often a model may be asked, and for how many seconds after the first time; of 0 calls there is none."""

    calls: int = 48
    seconds: float = 90.0


class RationedModel:
    """Implements :class:`~shrag.models.language_model.LanguageModel` within a :class:`Ration`. ``clock`` gives seconds.

    Whoever asks what was asked before, or is being asked, gets the same answer and the same error. What is streamed is
    not rationed: it is the answer, which a plan that has run out of everything still owes.
    """

    def __init__(
        self, model: LanguageModel, ration: Ration | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._model = model
        self._ration = ration or Ration()
        self._clock = clock
        self._until: float | None = None
        self._answers: dict[tuple[object, ...], Future[Completion]] = {}
        self._told: set[int] = set()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """See :class:`~shrag.models.language_model.LanguageModel`."""
        return self._model.name

    @property
    def calls(self) -> int:
        """How often the model was asked; what was streamed does not count."""
        with self._lock:
            return len(self._answers)

    def complete(
        self, messages: Sequence[Message], schema: Mapping[str, object] | None = None, *, max_tokens: int = 1024
    ) -> Completion:
        """See :class:`~shrag.models.language_model.LanguageModel`; raises :class:`BudgetExceeded`."""
        key = (tuple(messages), msgspec.json.encode(schema), max_tokens)
        with self._lock:
            answer = self._answers.get(key)
            mine = answer is None
            if answer is None:
                self._spend()
                answer = self._answers[key] = Future()
        if mine:
            try:
                answer.set_result(self._model.complete(messages, schema, max_tokens=max_tokens))
            except BaseException as error:
                answer.set_exception(error)
        return answer.result()

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> CompletionStream:
        """See :class:`~shrag.models.language_model.LanguageModel`."""
        return self._model.stream(messages, max_tokens=max_tokens)

    def tell(self, completion: Completion) -> bool:
        """Return whether ``completion`` is to be told of: it is one call, however many were given it."""
        with self._lock:
            first = id(completion) not in self._told
            self._told.add(id(completion))
        return first

    def _spend(self) -> None:
        if len(self._answers) >= self._ration.calls:
            raise BudgetExceeded("calls", self._ration.calls)
        if self._until is None:
            self._until = self._clock() + self._ration.seconds
        elif self._clock() > self._until:
            raise BudgetExceeded("seconds", self._ration.seconds)
