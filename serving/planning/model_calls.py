"""The language model's calls for one question: each named and noted, made once, and only so many of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from shrag.models.language_model import LanguageModel, Message
from shrag.models.structured_output import Structured, complete_structured
from shrag.prompts.prompt import Language, load_prompt
from shrag.serving.errors import PlanSpent
from shrag.serving.events import ModelCall, Purpose

_Kind = TypeVar("_Kind")


@dataclass(frozen=True, slots=True)
class Allowance:
    """How often the model may be asked and for how many seconds after the first; 0 calls is none at all."""

    calls: int = 48
    seconds: float = 90.0


class ModelCalls:
    """Asks ``model`` for one question. Safe to share between threads.

    A call that was made before, or is being made, is not made again: whoever asks for it gets the same answer, and the
    same error. ``clock`` gives seconds.
    """

    def __init__(
        self, model: LanguageModel, allowance: Allowance | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._model = model
        self._allowance = allowance or Allowance()
        self._clock = clock
        self._until: float | None = None
        self._made = 0
        self._answers: dict[tuple[object, ...], Future[Structured[Any]]] = {}
        self._untold: list[ModelCall] = []
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    @property
    def made(self) -> int:
        """How many calls were made; a repaired answer is one."""
        with self._lock:
            return self._made

    def ask(
        self,
        purpose: Purpose,
        prompt: str,
        language: Language,
        values: Mapping[str, str],
        kind: type[_Kind],
        *,
        max_tokens: int = 512,
    ) -> _Kind:
        """Return what the model writes to ``prompt``, as a value of ``kind``, a msgspec struct.

        Raises :class:`PlanSpent` where no further call is allowed, and as
        :func:`~shrag.models.structured_output.complete_structured` does.
        """
        messages = tuple(Message(turn.role, turn.content) for turn in load_prompt(prompt, language).turns(values))
        key = (messages, kind, max_tokens)
        with self._lock:
            answer: Future[Structured[_Kind]] | None = self._answers.get(key)
            mine = answer is None
            if answer is None:
                self._spend()
                answer = self._answers[key] = Future()
        if mine:
            try:
                structured = complete_structured(self._model, messages, kind, max_tokens=max_tokens)
            except BaseException as error:
                answer.set_exception(error)
                raise
            self._note(purpose, structured)
            answer.set_result(structured)
        return answer.result().value

    def untold(self) -> list[ModelCall]:
        """Return the events of the calls made since they were last asked for, in the order they ended."""
        with self._lock:
            told, self._untold = self._untold, []
        return told

    def _spend(self) -> None:
        if self._made >= self._allowance.calls:
            raise PlanSpent("calls", self._allowance.calls)
        if self._until is None:
            self._until = self._clock() + self._allowance.seconds
        elif self._clock() > self._until:
            raise PlanSpent("seconds", self._allowance.seconds)
        self._made += 1

    def _note(self, purpose: Purpose, structured: Structured[Any]) -> None:
        calls = [
            ModelCall(
                purpose,
                self._model.name,
                done.prompt_tokens,
                done.completion_tokens,
                done.seconds,
                done.first_seconds,
                repaired=structured.repaired,
            )
            for done in structured.completions
        ]
        with self._lock:
            self._untold.extend(calls)
