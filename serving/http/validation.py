"""Messages for requests that do not match their schema. Each names the field, the rule and the value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import msgspec
from msgspec import inspect

from shrag.messages.text import Text, joined

_MESSAGE = re.compile(r"(?P<what>.*?)(?: - at `\$(?P<path>[^`]*)`)?", re.DOTALL)
_FIELD = re.compile(r"Object (?P<kind>contains unknown|missing required) field `(?P<name>.*)`", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_LONGEST_SHOWN = 60

_Step = str | int

_type_info = cache(inspect.type_info)


def explain(error: msgspec.ValidationError, schema: type[msgspec.Struct], value: object, source: str) -> Text:
    """Return one sentence that names the field, the rule it breaks and its value.

    The path and the kind of the error come from msgspec's message. The rule comes from the type of the field.

    Args:
        error: The error that decoding raised.
        schema: The type that ``value`` was decoded as.
        value: The whole request, decoded without a type.
        source: The part of the request: ``body`` or ``query``.

    >>> class Query(msgspec.Struct):
    ...     k: int
    >>> explain(msgspec.ValidationError("Expected `int`, got `str` - at `$.k`"), Query, {"k": "x"}, "query")
    'query.k: expected an integer, got "x".'
    """
    match = _MESSAGE.fullmatch(str(error))
    steps = _read_path(match["path"] or "" if match else "")
    field = _FIELD.fullmatch(match["what"]) if match else None
    kind: inspect.Type = _type_info(schema)
    for step in steps:
        kind = _type_at(kind, step)
    if field is None:
        where = ".".join(map(str, (source, *steps)))
        return Text(
            "{where}: expected {rule}, got {shown}.",
            where=where,
            rule=_rule(kind),
            shown=_shown(_value_at(value, steps)),
        )
    where = ".".join(map(str, (source, *steps, _cut(field["name"]))))
    if field["kind"] == "missing required":
        return Text("{where}: this field is required and missing.", where=where)
    structs = [each for each in _members(kind) if isinstance(each, inspect.StructType)]
    known = [each.encode_name for struct in structs for each in struct.fields]
    names = ", ".join(known) or Text("another")
    return Text("{where}: there is no such field, use {names}.", where=where, names=names)


def _read_path(path: str) -> list[_Step]:
    return [name or int(index) for name, index in _STEP.findall(path)]


def _type_at(kind: inspect.Type, step: _Step) -> inspect.Type:
    """Return the type of a field or of an item of ``kind``."""
    for each in _members(kind):
        if isinstance(each, inspect.StructType) and isinstance(step, str):
            return next((field.type for field in each.fields if field.encode_name == step), inspect.AnyType())
        if isinstance(each, inspect.ListType) and isinstance(step, int):
            return each.item_type
    return inspect.AnyType()


def _members(kind: inspect.Type) -> Sequence[inspect.Type]:
    if isinstance(kind, inspect.Metadata):
        return _members(kind.type)
    return kind.types if isinstance(kind, inspect.UnionType) else (kind,)


def _value_at(value: object, steps: Sequence[_Step]) -> object:
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step] if step < len(value) else None
    return value


def _rule(kind: inspect.Type) -> str:
    return joined((_rule_of_one(each) for each in _members(kind)), Text(" or "))


def _rule_of_one(kind: inspect.Type) -> str:
    if isinstance(kind, inspect.LiteralType):
        return Text("one of {values}", values=", ".join(_shown(value) for value in kind.values))
    if isinstance(kind, inspect.IntType | inspect.FloatType):
        bounds = _bounds(kind.ge, kind.le)
        is_whole = isinstance(kind, inspect.IntType)
        return Text("an integer{bounds}", bounds=bounds) if is_whole else Text("a number{bounds}", bounds=bounds)
    if isinstance(kind, inspect.StrType):
        return Text("a string{bounds}", bounds=_bounds(kind.min_length, kind.max_length, Text(" characters")))
    if isinstance(kind, inspect.ListType):
        return Text("a list{bounds}", bounds=_bounds(kind.min_length, kind.max_length, Text(" items")))
    if isinstance(kind, inspect.DictType):
        return Text("an object, each value of which is {rule}", rule=_rule(kind.value_type))
    names = {
        inspect.BoolType: Text("true or false"),
        inspect.NoneType: "null",
        inspect.StructType: Text("an object"),
    }
    return names.get(type(kind), Text("another value"))


def _bounds(least: float | None, most: float | None, unit: str = "") -> str:
    if least is not None and most is not None:
        if not unit:
            return Text(" from {least} to {most}", least=least, most=most)
        return Text(" of {least} to {most}{unit}", least=least, most=most, unit=unit)
    if least is not None:
        return Text(" of at least {least}{unit}", least=least, unit=unit)
    return Text(" of at most {most}{unit}", most=most, unit=unit) if most is not None else ""


def _shown(value: object) -> str:
    """Return a value as JSON, or only its kind and size if it is long.

    >>> _shown("x"), _shown(None), _shown([1, 2]), _shown("x" * 61)
    ('"x"', 'null', 'a list of length 2', 'a string of length 61')
    """
    if isinstance(value, dict):
        return Text("an object")
    if isinstance(value, list):
        return Text("a list of length {length}", length=len(value))
    if isinstance(value, str) and len(value) > _LONGEST_SHOWN:
        return Text("a string of length {length}", length=len(value))
    return _cut(msgspec.json.encode(value).decode())


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
