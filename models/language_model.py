"""The language model seam: messages, and a JSON schema if one is wanted → text, whole or as it comes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol


class Message(NamedTuple):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    """A whole answer. ``finish_reason`` is ``stop`` where the model ended by itself, ``length`` where it was cut."""

    text: str
    finish_reason: Literal["stop", "length"]
    prompt_tokens: int
    completion_tokens: int
    seconds: float


class LanguageModel(Protocol):
    """Writes text. Safe to share between threads."""

    @property
    def name(self) -> str:
        """The model's name, as its endpoint gives it."""

    def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None = None) -> Completion:
        """Return the whole answer; with a JSON ``schema``, text that is valid under it."""

    def stream(self, messages: Sequence[Message]) -> Iterator[str]:
        """Yield the answer piece by piece. Closing the iterator stops the model."""
