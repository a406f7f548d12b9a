"""Structured output: request by JSON schema, validate, repair at most once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from shrag.models.errors import InvalidOutput
from shrag.models.language_model import Completion, LanguageModel, Message

T = TypeVar("T")

# Of a broken answer, as much is shown again as says what is wrong with it: a loop would fill the context a second time.
_SHOWN_AGAIN = 2_000


@dataclass(frozen=True, slots=True)
class Structured(Generic[T]):
    """A valid answer. ``repaired``: the first try was not; ``completions`` are the tries, in order."""

    value: T
    repaired: bool
    completions: tuple[Completion, ...]


def complete_structured(
    model: LanguageModel, messages: Sequence[Message], kind: type[T], *, max_tokens: int = 1024
) -> Structured[T]:
    """Ask for a value of ``kind``, a msgspec struct, whose fields, bounds and descriptions become the JSON schema.

    An answer that is not one is shown to the model again, once, with what is wrong with it. Raises
    :class:`InvalidOutput` where that one is not either, and what :meth:`LanguageModel.complete` raises.
    """
    schema = output_schema(kind)
    first = model.complete(messages, schema, max_tokens=max_tokens)
    try:
        return Structured(decode_output(first, kind), repaired=False, completions=(first,))
    except ValueError as error:
        wrong = str(error)
    again = (
        *messages,
        Message("assistant", first.text[:_SHOWN_AGAIN]),
        Message(
            "user", f"That is not valid ({wrong}). Answer again, with JSON under this schema alone: {_dumped(schema)}"
        ),
    )
    second = model.complete(again, schema, max_tokens=max_tokens)
    try:
        return Structured(decode_output(second, kind), repaired=True, completions=(first, second))
    except ValueError as error:
        raise InvalidOutput(
            f"{model.name} was asked twice for JSON as {kind.__name__} has it and gave none ({wrong}; then {error}): "
            "use a model or an endpoint that keeps to a JSON schema.",
            (first, second),
        ) from None


def output_schema(kind: type[Any]) -> dict[str, Any]:
    """Return the JSON schema of ``kind`` as engines that constrain generation want it.

    References are put in place, every property is required and no other allowed (what OpenAI calls strict). Raises
    ``TypeError`` for a kind that contains itself: no engine bounds its length.
    """
    schema = msgspec.json.schema(kind)
    definitions = schema.pop("$defs", {})
    closed = _closed(schema, definitions, ())
    assert isinstance(closed, dict)  # noqa: S101  (a schema is an object, and _closed keeps its shape)
    return closed


def decode_output(completion: Completion, kind: type[T]) -> T:
    """Return the value an answer holds; raises ``ValueError`` saying briefly why it holds none.

    Raw control characters in strings are let through, since xgrammar's grammar does, and so is prose or a code fence
    around the one object: an endpoint that ignores the schema often writes both.
    """
    start = completion.text.find("{")
    if start < 0:
        raise ValueError("it holds no JSON object")
    try:
        found, _ = _DECODER.raw_decode(completion.text, start)
        value = msgspec.convert(found, kind)
        # Half of a surrogate pair passes as text until someone writes it to a file or a socket.
        msgspec.json.encode(found)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("it has half a character (a lone surrogate)") from None
    except ValueError as error:
        cut = "it was cut off before its end; " if completion.finish_reason == "length" else ""
        raise ValueError(f"{cut}{error}") from None
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)


def _closed(schema: object, definitions: Mapping[str, Any], within: tuple[str, ...]) -> object:
    if isinstance(schema, list):
        return [_closed(one, definitions, within) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        if name in within:
            raise TypeError(f"{name} contains itself: a model's answer must have an end")
        return _closed(definitions[name], definitions, (*within, name))
    closed = {key: _closed(value, definitions, within) for key, value in schema.items() if key != "default"}
    if "properties" in closed:
        properties = {name: _closed(one, definitions, within) for name, one in schema["properties"].items()}
        closed |= {"properties": properties, "required": list(properties), "additionalProperties": False}
    return closed


def _dumped(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
