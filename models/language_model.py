"""Language model protocol: messages, and an optional JSON schema → text, complete or streamed."""

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
    """A complete response.

    ``finish_reason`` is ``length`` where the text was cut at the token limit. ``seconds`` is the time from the request
    to the end, ``first_seconds`` to the first text of a stream (equal to ``seconds`` without one).
    """

    text: str
    finish_reason: Literal["stop", "length"]
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    first_seconds: float


class CompletionStream(Protocol):
    """A streamed response. Closing it makes the model stop generating."""

    def __iter__(self) -> Iterator[str]:
        """Yield pieces of text; raises as :meth:`LanguageModel.complete` does, also between two pieces."""

    def close(self) -> None:
        """End the request; callable from any thread."""

    @property
    def completion(self) -> Completion:
        """The complete response; raises ``RuntimeError`` before the last piece was read."""


class LanguageModel(Protocol):
    """Generates text. Implementations are thread-safe.

    Both methods raise :class:`~shrag.models.errors.ModelUnavailable` and :class:`~shrag.models.errors.ModelRefused`.
    """

    @property
    def name(self) -> str:
        """The model's name, as its endpoint reports it."""

    def complete(
        self, messages: Sequence[Message], schema: Mapping[str, object] | None = None, *, max_tokens: int = 1024
    ) -> Completion:
        """Generate a response and wait for all of it.

        Some endpoints accept a JSON ``schema`` and ignore it: validate the text.
        """

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> CompletionStream:
        """Send the request now and return the response as a stream."""
