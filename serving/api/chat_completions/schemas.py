"""Request and response schemas of OpenAI's API, as far as it is implemented here.

Requests are read leniently, since clients send many fields. The schemas follow OpenAI's API reference for chat
completions and models, and the ``openai`` client.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from shrag.messages.text import Text
from shrag.serving.api.schemas import SourceRecord
from shrag.serving.events import Confidence


class StreamOptions(Struct, frozen=True):
    """Options of a stream."""

    include_usage: bool = False


class ContentPart(Struct, frozen=True):
    """A part of a message; only text is supported. A ``refusal`` is the text of an assistant that did not answer."""

    type: str
    text: str | None = None
    refusal: str | None = None


class ChatMessage(Struct, frozen=True):
    """A message of the conversation."""

    role: str
    content: str | list[ContentPart] | None = None


class ModelsQuery(Struct, frozen=True):
    """The query string of ``GET /v1/models``."""

    all: Annotated[bool, Meta(description="Every strategy as a model, not the default one alone.")] = False


class ChatRequest(Struct, frozen=True):
    """The body of ``POST /v1/chat/completions``. The last message of the user is the question.

    The messages before it are the turns that a follow-up question is read after.

    Unknown fields are ignored, and so are those of sampling (``temperature``, ``seed``, ``max_tokens``, …).
    """

    model: str
    messages: Annotated[list[ChatMessage], Meta(min_length=1, max_length=1_000)]
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: Annotated[int | None, Meta(description="Number of answers; only 1 is possible.")] = None


@dataclass(frozen=True, slots=True)
class UrlCitation:
    """Where a record that is cited can be read; the indices are those of its first mark in the text."""

    url: str
    title: str
    start_index: int
    end_index: int


@dataclass(frozen=True, slots=True)
class Annotation:
    """A citation in the form that OpenAI's clients and Open WebUI read."""

    url_citation: UrlCitation
    type: Literal["url_citation"] = "url_citation"


@dataclass(frozen=True, slots=True)
class ShragFields:
    """Fields beyond OpenAI's: what the answer was made from; ``cached`` where it is that of an earlier request.

    ``confidence`` says how likely the best record answers, null where that is not known.
    """

    index: str
    index_generation: int
    strategy: str
    cached: bool
    request_id: str
    hits: tuple[SourceRecord, ...]
    confidence: Confidence | None = None


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
    """The answer as the only choice."""

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
    shrag: ShragFields | msgspec.UnsetType = msgspec.UNSET


class Delta(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a chunk adds."""

    role: Literal["assistant", ""] = ""
    content: str | None = None
    annotations: tuple[Annotation, ...] = ()


class ChunkChoice(msgspec.Struct, frozen=True):
    """What a chunk adds to the only choice."""

    index: int
    delta: Delta
    finish_reason: Literal["stop", "length"] | None = None


class ChatChunk(msgspec.Struct, frozen=True):
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
    """An index with a strategy, as a model."""

    id: str
    created: int
    object: Literal["model"] = "model"
    owned_by: str = "shrag"


@dataclass(frozen=True, slots=True)
class ModelList:
    """The body of ``GET /v1/models``."""

    data: tuple[ModelEntry, ...]
    object: Literal["list"] = "list"


def message_text(message: ChatMessage) -> str:
    """Return the text of a message, without the parts that are not text."""
    texts = [message.content] if isinstance(message.content, str) else map(_part_text, message.content or [])
    return "\n".join(text for text in texts if text is not None)


def check_text_only(message: ChatMessage) -> None:
    """Raise ``ValueError`` if a part of a message is not text."""
    parts = message.content if isinstance(message.content, list) else []
    for part in parts:
        if _part_text(part) is None:
            raise ValueError(Text("a part of type {kind!r} is not read: send text", kind=part.type))


def _part_text(part: ContentPart) -> str | None:
    if part.type == "refusal":
        return part.refusal
    return part.text if part.type in {"text", "input_text", "output_text"} else None
