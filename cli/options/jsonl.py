"""Options of ``shrag corpus add`` that map the keys of JSON objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

import click

from shrag.corpora.formats.mapped_json import JsonlKeys
from shrag.corpora.formats.registry import FORMATS, Format, jsonl_format

_Command = TypeVar("_Command", bound=Callable[..., Any])


def jsonl_options(command: _Command) -> _Command:
    """Give a command one option for each field: ``--id-key`` to ``--keyword-key``; ``--text-key`` may be repeated."""
    for field in reversed(fields(JsonlKeys)):
        several = isinstance(field.default, tuple)
        shown = field.default[0] if isinstance(field.default, tuple) else field.default
        command = click.option(
            f"--{field.name}-key",
            f"{field.name}_key",
            metavar="KEY",
            multiple=several,
            help=f"jsonl: where the {field.name} stands, as in a.b{'; repeatable' if several else ''}. [{shown}]",
        )(command)
    return command


def chosen_format(name: str, keys: dict[str, Any]) -> Format:
    """Return the format with the keys that were given; raises a usage error where the format has none to give."""
    given = {key.removesuffix("_key"): value for key, value in keys.items() if value not in (None, ())}
    if not given:
        return FORMATS[name]
    if name != "jsonl":
        raise click.UsageError(f"--{min(given)}-key goes with --format jsonl, not with {name}, which has its own keys.")
    return jsonl_format(JsonlKeys(**given))
