"""OpenAI request and response shapes.

Source of the shapes: the API reference of OpenAI for chat completions and models, as the ``openai`` client reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from shrag.serving.api.schemas import SourceRecord


class StreamOptions(BaseModel):
    """What a stream is to have beside the answer."""

    model_config = ConfigDict(extra="ignore")

    include_usage: bool = False


class ChatPart(BaseModel):
    """A part of a message; only text is read."""

    model_config = ConfigDict(extra="ignore")

    type: str
    text: str | None = None


class ChatMessage(BaseModel):
    """A turn of the conversation."""

    model_config = ConfigDict(extra="ignore")

    role: str
    content: str | list[ChatPart] | None = None


class ChatRequest(BaseModel):
    """The body of ``POST /v1/chat/completions``. The last message of the user is the question.

    Unknown fields are ignored, and so are those that steer a sampling which is not done here (``temperature``,
    ``seed``, ``max_tokens``, …): the same question has the same answer.
    """

    model_config = ConfigDict(extra="ignore")

    model: str
    messages: list[ChatMessage] = Field(min_length=1, max_length=1_000)
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int | None = Field(default=None, description="Answers wanted; there is one.")


@dataclass(frozen=True, slots=True)
class UrlCitation:
    """Where a record that is cited can be read; the indices are those of its first mark in the text."""

    url: str
    title: str
    start_index: int
    end_index: int


@dataclass(frozen=True, slots=True)
class Annotation:
    """A citation, as OpenAI's clients and Open WebUI take it up."""

    url_citation: UrlCitation
    type: Literal["url_citation"] = "url_citation"


@dataclass(frozen=True, slots=True)
class ShragFields:
    """What the answer was made from, beside OpenAI's own fields.

    ``cached`` says that it was made for an earlier question like this one: no model was asked, and no token used.
    """

    index: str
    index_generation: int
    strategy: str
    cached: bool
    trace_id: str
    hits: tuple[SourceRecord, ...]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of the language model over all its calls; none where the answer is extractive."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


@dataclass(frozen=True, slots=True)
class AnswerMessage:
    """The answer."""

    role: Literal["assistant"]
    content: str
    annotations: tuple[Annotation, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The one answer there is."""

    index: int
    message: AnswerMessage
    finish_reason: Literal["stop", "length"]


@dataclass(frozen=True, slots=True)
class ChatResponse:
    """The body of an answer that is not streamed."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: tuple[Choice, ...]
    usage: Usage
    shrag: ShragFields


class Delta(msgspec.Struct, omit_defaults=True):
    """What a chunk adds."""

    role: Literal["assistant", ""] = ""
    content: str | None = None
    annotations: tuple[Annotation, ...] = ()


class ChunkChoice(msgspec.Struct):
    """The one answer there is, as far as it has come."""

    index: int
    delta: Delta
    finish_reason: Literal["stop", "length"] | None = None


class ChatChunk(msgspec.Struct):
    """An event of a streamed answer."""

    id: str
    object: Literal["chat.completion.chunk"]
    created: int
    model: str
    choices: tuple[ChunkChoice, ...]
    usage: Usage | msgspec.UnsetType | None = msgspec.UNSET
    shrag: ShragFields | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One way to be answered: an index by a strategy."""

    id: str
    created: int
    object: Literal["model"] = "model"
    owned_by: str = "shrag"


@dataclass(frozen=True, slots=True)
class ModelList:
    """The body of ``GET /v1/models``."""

    data: tuple[ModelEntry, ...]
    object: Literal["list"] = "list"


@dataclass(frozen=True, slots=True)
class OpenAIError:
    """What went wrong; ``code`` is the same as in a problem's."""

    message: str
    type: str
    param: str | None
    code: str
    trace_id: str


@dataclass(frozen=True, slots=True)
class OpenAIProblem:
    """The body of every error on OpenAI's routes, and the event that a stream fails with."""

    error: OpenAIError


def message_text(message: ChatMessage) -> str:
    """Return a message's text; raises ``ValueError`` naming the part that is none."""
    if isinstance(message.content, str):
        return message.content
    parts = message.content or []
    for part in parts:
        if part.type not in {"text", "input_text"} or part.text is None:
            raise ValueError(f"a part of type {part.type!r} is not read: send text")
    return "\n".join(part.text or "" for part in parts)
