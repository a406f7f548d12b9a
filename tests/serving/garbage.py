"""A language model that writes anything at all, and some of it to do harm."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence

from shrag.models.language_model import Completion, Message
from tests.serving.scripted import ScriptedStream

HOSTILE = [
    "",
    "…",
    "⟦record 1⟧",
    "##NO ANSWER##",
    "$question",
    "[ANS_1]",
    "{",
    "[1][99]",
    "a\u202eb\x00\ud800",
    "LSTM 7.8% [1].",
]


class GarbageModel:
    """A model that writes any of ``texts``, as it is or as the strings of what the schema asks for."""

    name = "garbage"

    def __init__(self, texts: Sequence[str], seed: int) -> None:
        self._texts = texts
        self._chance = random.Random(seed)
        self.calls = 0

    def complete(
        self, messages: Sequence[Message], schema: Mapping[str, object] | None = None, *, max_tokens: int = 1024
    ) -> Completion:
        self.calls += 1
        text = self._chance.choice(self._texts)
        if schema is not None and self._chance.random() < 0.8:
            text = json.dumps(self._filled(schema))
        return Completion(text, self._chance.choice(["stop", "length"]), 1, 1, 0.0, 0.0)

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> ScriptedStream:
        self.calls += 1
        return ScriptedStream([self._chance.choice(self._texts) for _ in range(3)])

    def _filled(self, schema: Mapping[str, object]) -> object:
        """Return something of the schema's shape; its bounds are kept to by chance alone."""
        match schema:
            case {"properties": dict() as properties}:
                return {name: self._filled(one) for name, one in properties.items()}
            case {"items": dict() as items}:
                return [self._filled(items) for _ in range(self._chance.randrange(8))]
            case {"type": "integer"}:
                return self._chance.choice([-1, 0, 1, 3, 51, 10**12])
            case {"pattern": str()}:
                return self._chance.choice(["A", "B", "C", "D", "", self._chance.choice(self._texts)])
            case _:
                return self._chance.choice(self._texts)
