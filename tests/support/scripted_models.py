"""Scripted language models for tests: replies from a list or from a TOML file.

A script is TOML: ``[[says]]`` tables with ``prompt`` and its ``text``, or ``texts``, one after the other; where
one prompt is asked more than one thing, with ``has``, a part of what the user says, or ``language``. The first that
fits is taken. ``answer`` is what is streamed. ``<onion>`` and ``<groundwater>`` are the numbers that two records of the
demonstration have in the prompt, so that a script does not depend on their ranks.
"""

from __future__ import annotations

import json
import re
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec

from shrag.models.chat.circuit_breaker import CircuitBreaker
from shrag.models.chat.client import OpenAIModel
from shrag.models.chat.settings import LlmSettings
from shrag.models.errors import ModelError
from shrag.models.language_model import Completion, Message
from shrag.prompts.prompt import VARIABLES, Language, load_prompt
from shrag.serving.engine import Engine
from shrag.serving.runtime.admission import ServerLimits
from tests.support.fake_endpoint import Endpoint, serving
from tests.support.live import Live, live

Line = str | ModelError
"""What the model writes, or how it fails."""


class ScriptedStream:
    """Implements :class:`~shrag.models.language_model.CompletionStream`."""

    def __init__(self, pieces: Sequence[Line], finish_reason: Literal["stop", "length"] = "stop") -> None:
        self._pieces = pieces
        self._finish_reason = finish_reason
        self.closed = False
        self.taken = 0

    def __iter__(self) -> Iterator[str]:
        for piece in self._pieces:
            if isinstance(piece, ModelError):
                raise piece
            self.taken += 1
            yield piece

    def close(self) -> None:
        self.closed = True

    @property
    def completion(self) -> Completion:
        return Completion("".join(map(str, self._pieces)), self._finish_reason, 700, 80, 0.5, 0.1)


class ScriptedModel:
    """Implements :class:`~shrag.models.language_model.LanguageModel`.

    ``keywords`` has what is written where a Korean (English) list is asked for; ``answer`` is streamed and ends for
    ``finish_reason``.
    """

    name = "scripted"

    def __init__(
        self,
        korean: Line = "",
        english: Line = "",
        answer: Sequence[Line] = (),
        finish_reason: Literal["stop", "length"] = "stop",
    ) -> None:
        self.finish_reason = finish_reason
        self.keywords = {"ko": korean, "en": english}
        self.answer = answer
        self.asked: list[Sequence[Message]] = []
        self.streams: list[ScriptedStream] = []

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, object] | None = None,
        *,
        max_tokens: int = 1024,
        urgent: bool = False,
    ) -> Completion:
        self.asked.append(messages)
        line = self.keywords["ko" if "핵심어" in messages[0].content else "en"]
        if isinstance(line, ModelError):
            raise line
        return Completion(line, "stop", 200, 20, 0.2, 0.2)

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> ScriptedStream:
        self.asked.append(messages)
        self.streams.append(ScriptedStream(self.answer, self.finish_reason))
        return self.streams[-1]


def listed(*keywords: str, excluded: Sequence[str] | None = None) -> str:
    """Return what a model writes that chooses these keywords, and if given what the question excludes."""
    answer = {"keywords": keywords} if excluded is None else {"keywords": keywords, "excluded": excluded}
    return json.dumps(answer, ensure_ascii=False)


SCRIPTS = Path(__file__).parent / "scripts"

_LANGUAGES: tuple[Language, ...] = ("ko", "en")

_NAMED_RECORDS = {"<onion>": "Forecasting Wholesale Onion Prices", "<groundwater>": "Forecasting of Groundwater Level"}
_NUMBERED_RECORD = re.compile(r"⟦(?:문헌|record) (\d+)⟧\n(.*?)\n⟦", re.DOTALL)


def _number_records(text: str, prompt: str) -> str:
    """Replace the names of records by their numbers in the prompt, 99 where it does not have them."""
    for name, title in _NAMED_RECORDS.items():
        numbers = [number for number, record in _NUMBERED_RECORD.findall(prompt) if title in record]
        text = text.replace(name, numbers[0] if numbers else "99")
    return text


class ScriptFile:
    """Implements :class:`~shrag.models.language_model.LanguageModel`. ``asked`` are the prompts' names, in order.

    ``urgent`` are those with less time, ``told`` those with what the user says, ``streams`` what the user says where an
    answer is streamed.
    """

    name = "scripted"

    def __init__(self, script: str | Path) -> None:
        path = script if isinstance(script, Path) else SCRIPTS / f"{script}.toml"
        told: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        self._says: list[dict[str, Any]] = told["says"]
        self._said: dict[int, int] = {}
        self._answer: str = told.get("answer", "")
        self._heads = {
            load_prompt(name, language).system.template.partition("$")[0]: (name, language)
            for name in VARIABLES
            for language in _LANGUAGES
        }
        self._lock = threading.Lock()
        self.asked: list[str] = []
        self.urgent: set[str] = set()
        self.told: list[tuple[str, str]] = []
        self.streams: list[str] = []
        self.streamed = 0
        self._failing: dict[str, ModelError] = {}
        self._making: dict[str, Callable[[], str]] = {}

    def say(self, prompt: str, text: str) -> None:
        """Let ``text`` be written to a prompt, whatever the file says."""
        self._says.insert(0, {"prompt": prompt, "text": text})

    def write(self, answer: str) -> None:
        """Let ``answer`` be streamed, whatever the file says."""
        self._answer = answer

    def make(self, prompt: str, text: Callable[[], str]) -> None:
        """Let what ``text`` makes each time be written to a prompt."""
        self._making[prompt] = text

    def fail(self, prompt: str, error: ModelError) -> None:
        """Let a prompt fail."""
        self._failing[prompt] = error

    def prompt_of(self, system: str) -> tuple[str, Language]:
        """Return the name and the language of the prompt with this system message."""
        return next(asked for head, asked in self._heads.items() if system.startswith(head))

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, object] | None = None,
        *,
        max_tokens: int = 1024,
        urgent: bool = False,
    ) -> Completion:
        prompt, language = self.prompt_of(messages[0].content)
        with self._lock:
            self.asked.append(prompt)
            self.told.append((prompt, messages[1].content))
            if urgent:
                self.urgent.add(prompt)
        if prompt in self._failing:
            raise self._failing[prompt]
        if prompt in self._making:
            return Completion(self._making[prompt](), "stop", 200, 20, 0.2, 0.2)
        for line in self._says:
            fits = line["prompt"] == prompt and line.get("language", language) == language
            if fits and line.get("has", "") in messages[1].content:
                with self._lock:
                    texts = line["texts"] if "texts" in line else [line["text"]]
                    said = self._said[id(line)] = self._said.get(id(line), -1) + 1
                text = _number_records(texts[min(said, len(texts) - 1)], messages[1].content)
                return Completion(text, "stop", 200, 20, 0.2, 0.2)
        raise AssertionError(f"The script says nothing to {prompt}: {messages[1].content[-200:]}")

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> ScriptedStream:
        self.streamed += 1
        self.streams.append(messages[1].content)
        return ScriptedStream([_number_records(self._answer, messages[1].content)])


QUICK = LlmSettings(model="m", connect_timeout=1, read_timeout=0.7, timeout=60, keyword_timeout=10, retries=0)


@contextmanager
def modelled(
    demo: Engine, endpoint: Endpoint | str, limits: ServerLimits | None = None, **settings: object
) -> Iterator[Live]:
    """Serve the demonstration index, answered by the model at ``endpoint``, which is served too, or at its address."""
    if isinstance(endpoint, Endpoint):
        with serving(endpoint) as address, modelled(demo, address, limits, **settings) as server:
            yield server
        return
    chosen = msgspec.structs.replace(QUICK, url=endpoint, **settings)
    with closing(OpenAIModel(chosen)) as model, live(demo, CircuitBreaker(model), limits) as server:
        yield server
