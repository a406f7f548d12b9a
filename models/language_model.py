"""The protocol of language models, which turn messages and an optional JSON schema into complete or streamed text."""

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

    ``finish_reason`` is ``length`` if the text was cut at the token limit. ``seconds`` is the time from the request to
    the end, and ``first_seconds`` the time to the first text of a stream (without a stream, it equals ``seconds``).
    """

    text: str
    finish_reason: Literal["stop", "length"]
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    first_seconds: float


class CompletionStream(Protocol):
    """A streamed response; closing it makes the model stop generating."""

    def __iter__(self) -> Iterator[str]:
        """Yield pieces of text; raises as :meth:`LanguageModel.complete` does, even between two pieces."""

    def close(self) -> None:
        """End the request; any thread may call this."""

    @property
    def completion(self) -> Completion:
        """The complete response; raises ``RuntimeError`` before the last piece is read."""


class LanguageModel(Protocol):
    """Generates text; implementations are thread-safe.

    Both methods raise :class:`~shrag.models.errors.ModelUnavailable` and :class:`~shrag.models.errors.ModelRefused`.
    """

    @property
    def name(self) -> str:
        """The model's name as its endpoint reports it."""

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, object] | None = None,
        *,
        max_tokens: int = 1024,
        urgent: bool = False,
    ) -> Completion:
        """Generate a response and wait for all of it.

        Some endpoints accept a JSON ``schema`` but ignore it, so callers must validate the text. An ``urgent``
        response, which a search waits for before it begins, has less time and may be answered before others.
        """

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> CompletionStream:
        """Send the request now and return the response as a stream."""
