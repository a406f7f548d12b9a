"""Budget of the model calls of one plan; identical calls are made once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future

import msgspec

from shrag.models.language_model import Completion, CompletionStream, LanguageModel, Message
from shrag.serving.concurrency import waiting
from shrag.serving.errors import BudgetExceeded


class BudgetedModel:
    """Implements :class:`~shrag.models.language_model.LanguageModel` within a budget.

    At most ``most_calls`` calls are made, and no call starts more than ``most_seconds`` seconds after the first one.
    Identical calls share one completion or one error, even while the first one is still running. Streams are not
    limited: they write the answer, which is given even when the budget is used up. ``clock`` returns seconds.
    """

    def __init__(
        self, model: LanguageModel, most_calls: int, most_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._model = model
        self._most_calls = most_calls
        self._most_seconds = most_seconds
        self._clock = clock
        self._until: float | None = None
        self._completions: dict[tuple[object, ...], Future[Completion]] = {}
        self._reported: set[int] = set()
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
        """See :class:`~shrag.models.language_model.LanguageModel`; raises :class:`BudgetExceeded`."""
        key = (tuple(messages), msgspec.json.encode(schema), max_tokens)
        with self._lock:
            completion = self._completions.get(key)
            first = completion is None
            if completion is None:
                self._check_budget()
                completion = self._completions[key] = Future()
        if first:
            try:
                completion.set_result(self._model.complete(messages, schema, max_tokens=max_tokens, urgent=urgent))
            except BaseException as error:
                completion.set_exception(error)
        with waiting():
            return completion.result()

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> CompletionStream:
        """See :class:`~shrag.models.language_model.LanguageModel`."""
        return self._model.stream(messages, max_tokens=max_tokens)

    def report_once(self, completion: Completion) -> bool:
        """Return whether this is the first report of a completion, which may have been given to several callers."""
        with self._lock:
            first = id(completion) not in self._reported
            self._reported.add(id(completion))
        return first

    def _check_budget(self) -> None:
        if len(self._completions) >= self._most_calls:
            raise BudgetExceeded("calls", self._most_calls)
        if self._until is None:
            self._until = self._clock() + self._most_seconds
        elif self._clock() > self._until:
            raise BudgetExceeded("seconds", self._most_seconds)
