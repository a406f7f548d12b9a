"""Write the Korean catalog of messages with Babel, from the messages of the source.

``python deploy/catalogue.py`` adds the new messages of the source to ``shrag.po``, without translations. It drops the
messages that the source no longer has, and compiles ``shrag.mo``.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import click
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from shrag.cli.main import COMMANDS, shrag

ROOT = Path(__file__).resolve().parents[1]
PO = ROOT / "messages" / "locale" / "ko" / "LC_MESSAGES" / "shrag.po"
MO = PO.with_suffix(".mo")
PACKAGES = ("shrag", "corpora", "models", "prompts", "indexing", "serving", "evaluation", "bundle", "cli")

MessageId = str | tuple[str, str]
"""A template, or the singular and the plural of one of click's messages."""

_HEADER = """\
# Korean messages of SHRAG's commands, errors and HTTP problems, and of click.
# Written by hand; `make messages` keeps it in step with the source and compiles shrag.mo."""


def source_messages() -> list[MessageId]:
    """Return every message of the source once: templates, help texts, and click's own messages."""
    found = (*_templates(), *_help_texts(), *_click_messages())
    return list(dict.fromkeys(each for each in found if each))


def _templates() -> Iterator[str]:
    for file in (file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))):
        for call in _calls(file, "Text"):
            if isinstance(call.args[0], ast.Constant):
                yield str(call.args[0].value)


def _help_texts() -> Iterator[str]:
    commands: list[click.Command] = [shrag, *(importlib.import_module(module).command for module in COMMANDS.values())]
    while commands:
        command = commands.pop(0)
        yield inspect.cleandoc(command.help or "")
        options = [option for option in command.params if isinstance(option, click.Option)]
        yield from (option.help or "" for option in options)
        yield from (option.show_default for option in options if isinstance(option.show_default, str))
        commands += command.commands.values() if isinstance(command, click.Group) else ()


def _click_messages() -> Iterator[MessageId]:
    yield "required"  # click translates it through a variable, so no call shows it
    for file in sorted(Path(click.__file__).parent.glob("*.py")):
        for call in _calls(file, "_"):
            if isinstance(call.args[0], ast.Constant):
                yield str(call.args[0].value)
        for call in _calls(file, "ngettext"):
            singular, plural = call.args[:2]
            if isinstance(singular, ast.Constant) and isinstance(plural, ast.Constant):
                yield str(singular.value), str(plural.value)


def _calls(file: Path, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name and node.args:
            yield node


def read_catalogue() -> Catalog:
    """Return ``shrag.po``."""
    with PO.open("rb") as stream:
        return read_po(stream, locale="ko")


def updated(old: Catalog, messages: Iterable[MessageId]) -> Catalog:
    """Return a catalog of ``messages`` with the translations that ``old`` has."""
    # The date never changes, or any two changes of the file would conflict.
    dated = datetime(2026, 11, 1, tzinfo=UTC)
    new = Catalog("ko", domain="shrag", header_comment=_HEADER, fuzzy=False, creation_date=dated)
    # Two forms, as in English, because click's singular and plural have different fields.
    new.mime_headers = [("Plural-Forms", "nplurals=2; plural=(n != 1);")]
    for message in messages:
        known = old.get(message)
        new.add(message, known.string if known else "")
    return new


def compiled(catalogue: Catalog) -> bytes:
    """Return the bytes of ``shrag.mo``."""
    stream = BytesIO()
    write_mo(stream, catalogue)
    return stream.getvalue()


def main() -> None:
    """Write both files anew."""
    catalogue = updated(read_catalogue(), source_messages())
    with PO.open("wb") as stream:
        write_po(stream, catalogue, width=120, omit_header=False)
    MO.write_bytes(compiled(catalogue))


if __name__ == "__main__":
    main()
