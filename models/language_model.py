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
    """A whole answer. ``finish_reason`` is ``stop`` where the model ended by itself, ``length`` where it was cut.

    ``seconds`` is from asking to the end, ``first_seconds`` to the first piece where it was streamed, else the same.
    """

    text: str
    finish_reason: Literal["stop", "length"]
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    first_seconds: float


class CompletionStream(Protocol):
    """An answer as it comes. Closing it, before the end or after, stops the model's work on it."""

    def __iter__(self) -> Iterator[str]:
        """Yield the pieces; raises as :meth:`LanguageModel.complete` does, also between two pieces."""

    def close(self) -> None:
        """Let go of the model, from any thread."""

    @property
    def completion(self) -> Completion:
        """The whole answer, once the last piece was taken; ``RuntimeError`` before."""


class LanguageModel(Protocol):
    """Writes text. Safe to share between threads.

    Both calls raise :class:`~shrag.models.errors.ModelUnavailable` and :class:`~shrag.models.errors.ModelRefused`.
    """

    @property
    def name(self) -> str:
        """The model's name, as its endpoint gives it."""

    def complete(
        self, messages: Sequence[Message], schema: Mapping[str, object] | None = None, *, max_tokens: int = 1024
    ) -> Completion:
        """Return the whole answer; with a JSON ``schema``, text that the endpoint was asked to keep valid under it.

        Whether it is valid is for the caller to check: some endpoints accept a schema and ignore it.
        """

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> CompletionStream:
        """Return the answer as it comes. The model is asked at once."""
