"""A language model whose answers stand in a file: for a prompt, and what the question has to hold, what is written.

A script is TOML: ``[[says]]`` tables with ``prompt`` and its ``text``, or ``texts``, one after the other; where
one prompt is asked more than one thing, with ``has``, a part of what the user says, or ``language``. The first that
fits is taken. ``answer`` is what is streamed.
"""

from __future__ import annotations

import threading
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shrag.models.errors import ModelError
from shrag.models.language_model import Completion, Message
from shrag.prompts.prompt import VARIABLES, Language, load_prompt
from tests.serving.scripted import ScriptedStream

SCRIPTS = Path(__file__).parent / "scripts"

_LANGUAGES: tuple[Language, ...] = ("ko", "en")


class ScriptFile:
    """Implements :class:`~shrag.models.language_model.LanguageModel`. ``asked`` are the prompts' names, in order.

    ``told`` are those with what the user says, ``streams`` what the user says where an answer is streamed.
    """

    name = "scripted"

    def __init__(self, script: str) -> None:
        told: dict[str, Any] = tomllib.loads((SCRIPTS / f"{script}.toml").read_text(encoding="utf-8"))
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

    def complete(
        self, messages: Sequence[Message], schema: Mapping[str, object] | None = None, *, max_tokens: int = 1024
    ) -> Completion:
        prompt, language = next(asked for head, asked in self._heads.items() if messages[0].content.startswith(head))
        with self._lock:
            self.asked.append(prompt)
            self.told.append((prompt, messages[1].content))
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
                return Completion(texts[min(said, len(texts) - 1)], "stop", 200, 20, 0.2, 0.2)
        raise AssertionError(f"The script says nothing to {prompt}: {messages[1].content[-200:]}")

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> ScriptedStream:
        self.streamed += 1
        self.streams.append(messages[1].content)
        return ScriptedStream([self._answer])
