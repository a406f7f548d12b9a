"""What an endpoint sends back, read strictly: whatever it says beside these fields is ignored."""

from __future__ import annotations

from typing import Literal

import msgspec

from shrag.models.errors import ModelError, ModelUnavailable


class Text(msgspec.Struct):
    """A message, or the next piece of one."""

    content: str | None = None


class Usage(msgspec.Struct):
    """Tokens, counted by the endpoint."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


class AnswerChoice(msgspec.Struct):
    """A whole answer."""

    message: Text
    finish_reason: str | None = None


class ChatAnswer(msgspec.Struct):
    """The body of an answer that is not streamed."""

    choices: list[AnswerChoice]
    usage: Usage | None = None


class ChunkChoice(msgspec.Struct):
    """A piece of an answer; the last has a reason."""

    delta: Text = msgspec.field(default_factory=Text)
    finish_reason: str | None = None


class ChatChunk(msgspec.Struct):
    """One event of a stream; the last has the usage and no choice."""

    choices: list[ChunkChoice]
    usage: Usage | None = None


def finished(where: str, reason: str | None) -> Literal["stop", "length"]:
    """Return how an answer ended; raises where the endpoint ended it, or nobody did."""
    if reason == "length":
        return "length"
    if reason is None:
        raise broke_off(where, "no last piece came")
    if reason in {"abort", "error"}:
        raise broke_off(where, f"it says {reason!r}")
    return "stop"


def broke_off(where: str, why: str) -> ModelError:
    """Return the error of an answer that began and did not end."""
    return ModelUnavailable(f"{where} broke off its answer ({why}): ask again.")
