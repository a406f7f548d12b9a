"""Options of ``shrag corpus add`` that name the keys of JSON objects: ``--id-key`` and others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

import click

from shrag.corpora.formats.mapped_json import JsonlKeys
from shrag.corpora.formats.registry import FORMATS, Format, jsonl_format

_Command = TypeVar("_Command", bound=Callable[..., Any])


def jsonl_options(command: _Command) -> _Command:
    """Add one option for each field to a command: ``--id-key`` to ``--keyword-key``; some are repeatable."""
    for field in reversed(fields(JsonlKeys)):
        several = isinstance(field.default, tuple)
        shown = field.default[0] if isinstance(field.default, tuple) else field.default
        command = click.option(
            f"--{field.name}-key",
            f"{field.name}_key",
            metavar="KEY",
            multiple=several,
            help=f"jsonl: key of the {field.name}, such as a.b{'; repeatable' if several else ''}. [{shown}]",
        )(command)
    return command


def select_format(name: str, keys: dict[str, Any]) -> Format:
    """Return the format with the given keys; raise ``click.UsageError`` if the format has fixed keys."""
    given = {key.removesuffix("_key"): value for key, value in keys.items() if value not in (None, ())}
    if not given:
        return FORMATS[name]
    if name != "jsonl":
        raise click.UsageError(f"--{min(given)}-key needs --format jsonl: the keys of {name} are fixed.")
    return jsonl_format(JsonlKeys(**given))
