"""Structured output: request JSON that fits a schema, validate it, and ask once more if it does not fit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from shrag.messages.text import Text
from shrag.models.decoding import convert
from shrag.models.errors import InvalidOutput
from shrag.models.language_model import Completion, LanguageModel, Message

T = TypeVar("T")

# How many characters of an invalid response the repair request quotes; a response that repeats itself may be very long.
_MAX_QUOTED = 2_000


@dataclass(frozen=True, slots=True)
class Structured(Generic[T]):
    """The result of :func:`complete_structured`.

    Attributes:
        value: The decoded value.
        repaired: Whether the first response was invalid.
        completions: All responses, one or two.
    """

    value: T
    repaired: bool
    completions: tuple[Completion, ...]


def complete_structured(
    model: LanguageModel, messages: Sequence[Message], kind: type[T], *, max_tokens: int = 1024, urgent: bool = False
) -> Structured[T]:
    """Request a value of a msgspec struct; an invalid response is sent back to the model once, with the error.

    Args:
        model: The language model.
        messages: The prompt.
        kind: The struct; its fields and their ``Meta`` become the JSON schema.
        max_tokens: The token limit of each response.
        urgent: See :meth:`~shrag.models.language_model.LanguageModel.complete`.

    Raises:
        InvalidOutput: The second response is invalid too; the error holds both responses.
        ModelError: As :meth:`~shrag.models.language_model.LanguageModel.complete`, for either request.
    """
    schema = output_schema(kind)
    first = model.complete(messages, schema, max_tokens=max_tokens, urgent=urgent)
    try:
        return Structured(decode_output(first, kind), repaired=False, completions=(first,))
    except ValueError as error:
        problem = str(error)
    repair_messages = (
        *messages,
        Message("assistant", first.text[:_MAX_QUOTED]),
        Message(
            "user",
            f"That is not valid ({problem}). Answer again, with JSON under this schema alone: {_to_json(schema)}",
        ),
    )
    second = model.complete(repair_messages, schema, max_tokens=max_tokens, urgent=urgent)
    try:
        return Structured(decode_output(second, kind), repaired=True, completions=(first, second))
    except ValueError as error:
        raise InvalidOutput(
            Text(
                "{name} gave no valid {wanted} as JSON in two attempts ({problem}; then {error}): use a model "
                "or an endpoint that follows a JSON schema.",
                name=model.name,
                wanted=kind.__name__,
                problem=problem,
                error=error,
            ),
            (first, second),
        ) from None


def output_schema(kind: type[Any]) -> dict[str, Any]:
    """Return the strict JSON schema of a struct, which servers with constrained decoding need.

    References are inlined and defaults are removed. Every property is required and no other is allowed (OpenAI's
    "strict").

    Raises:
        TypeError: The struct contains itself, so the length of a response would have no limit.
    """
    schema = msgspec.json.schema(kind)
    definitions = schema.pop("$defs", {})
    strict = _strict(schema, definitions, ())
    assert isinstance(strict, dict)  # noqa: S101  (a schema is an object, and _strict keeps its type)
    return strict


def decode_output(completion: Completion, kind: type[T]) -> T:
    """Decode the JSON object that begins at the first ``{`` of a response; text after the object is ignored.

    Raw control characters in strings are accepted, since xgrammar's grammar permits them. Text or a code fence around
    the object is accepted too, since endpoints that ignore the schema often write it.

    Raises:
        ValueError: There is no valid object; the message is a clause about it, such as "it holds no JSON object".
    """
    start = completion.text.find("{")
    if start < 0:
        raise ValueError("it holds no JSON object")
    try:
        found, _ = _DECODER.raw_decode(completion.text, start)
        value = convert(found, kind)
        # A lone surrogate in a string would fail later, when it is written to a file or socket.
        msgspec.json.encode(found)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("it has an unpaired surrogate") from None
    except ValueError as error:
        cut = "it was cut off before its end; " if completion.finish_reason == "length" else ""
        raise ValueError(f"{cut}{error}") from None
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not valid JSON")


_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)


def _strict(schema: object, definitions: Mapping[str, Any], parents: tuple[str, ...]) -> object:
    if isinstance(schema, list):
        return [_strict(item, definitions, parents) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        if name in parents:
            raise TypeError(f"{name} contains itself: recursive structs are not supported")
        return _strict(definitions[name], definitions, (*parents, name))
    strict = {key: _strict(value, definitions, parents) for key, value in schema.items() if key != "default"}
    if "properties" in strict:
        properties = {name: _strict(value, definitions, parents) for name, value in schema["properties"].items()}
        strict |= {"properties": properties, "required": list(properties), "additionalProperties": False}
    return strict


def _to_json(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
