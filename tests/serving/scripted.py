"""A language model that says what a test tells it to, and remembers what it was asked and whether it was let go."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from shrag.models.errors import ModelError
from shrag.models.language_model import Completion, Message

Line = str | ModelError
"""What the model writes, or how it fails."""


class ScriptedStream:
    """Implements :class:`~shrag.models.language_model.CompletionStream`."""

    def __init__(self, pieces: Sequence[Line]) -> None:
        self._pieces = pieces
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
        return Completion("".join(map(str, self._pieces)), "stop", 700, 80, 0.5, 0.1)


class ScriptedModel:
    """Implements :class:`~shrag.models.language_model.LanguageModel`.

    ``keywords`` has what is written where a Korean (English) list is asked for; ``answer`` is streamed.
    """

    name = "scripted"

    def __init__(self, korean: Line = "", english: Line = "", answer: Sequence[Line] = ()) -> None:
        self.keywords = {"ko": korean, "en": english}
        self.answer = answer
        self.asked: list[Sequence[Message]] = []
        self.streams: list[ScriptedStream] = []

    def complete(
        self, messages: Sequence[Message], schema: Mapping[str, object] | None = None, *, max_tokens: int = 1024
    ) -> Completion:
        self.asked.append(messages)
        line = self.keywords["ko" if "핵심어" in messages[0].content else "en"]
        if isinstance(line, ModelError):
            raise line
        return Completion(line, "stop", 200, 20, 0.2, 0.2)

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> ScriptedStream:
        self.asked.append(messages)
        self.streams.append(ScriptedStream(self.answer))
        return self.streams[-1]


def listed(*keywords: str) -> str:
    """Return what a model writes that chooses these keywords."""
    return json.dumps({"keywords": keywords}, ensure_ascii=False)
