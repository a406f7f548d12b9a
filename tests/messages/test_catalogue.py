"""Tests of the Korean catalogue: complete, with the same fields as the source, compiled; no bare English is raised."""

import ast
import re
from pathlib import Path
from string import Formatter

import catalogue

from shrag.messages.text import LOCALE

ROOT = Path(__file__).resolve().parents[2]

TRANSLATED = ("cli", "corpora", "evaluation", "indexing", "models", "prompts", "serving", "shrag")
"""Packages whose messages are all in the catalogue."""

NOT_SHOWN = {"ValueError", "TypeError", "RuntimeError", "AssertionError", "AttributeError", "PlainTextResponse"}
"""Programming errors, which no command and no response shows as a message."""


def _fields(template: str) -> set[tuple[str, str | None, str | None]]:
    return {(name, spec, conversion) for _, name, spec, conversion in Formatter().parse(template) if name is not None}


def test_every_message_of_the_source_and_none_else_has_a_korean_translation_with_the_same_fields() -> None:
    translations = {message.id: message.string for message in catalogue.read_catalogue() if message.id}
    assert set(translations) == set(catalogue.source_messages())
    for identifier, string in translations.items():
        originals = (identifier,) if isinstance(identifier, str) else identifier
        strings = (string,) if isinstance(string, str) else tuple(string or ())
        for original, translated in zip(originals, strings, strict=True):
            assert translated, original
            if "{" in original:
                assert _fields(translated) == _fields(original), original


def test_no_translation_is_fuzzy_and_the_compiled_catalogue_is_that_of_the_source() -> None:
    read = catalogue.read_catalogue()
    assert [message.id for message in read if message.fuzzy and message.id] == []
    assert (LOCALE / "ko/LC_MESSAGES/shrag.mo").read_bytes() == catalogue.compiled(read), "run `make messages`"


def test_no_bare_english_is_raised_or_printed() -> None:
    bare = [
        f"{file.relative_to(ROOT)}:{argument.lineno}"
        for package in TRANSLATED
        for file in sorted((ROOT / package).rglob("*.py"))
        for call in _shown(ast.parse(file.read_text(encoding="utf-8")))
        for argument in call.args
        if _is_english(argument)
    ]
    assert bare == []


def _shown(tree: ast.AST) -> list[ast.Call]:
    raised = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    printed = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node) in {"echo", "echo_error", "log"}
    ]
    return [call for call in (*raised, *printed) if _name(call) not in NOT_SHOWN]


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _is_english(argument: ast.expr) -> bool:
    """Return whether a string has two words, apart from the names of a table's columns."""
    parts = argument.values if isinstance(argument, ast.JoinedStr) else [argument]
    literals = [part.value for part in parts if isinstance(part, ast.Constant)]
    literal = "".join(each for each in literals if isinstance(each, str))
    return "\t" not in literal and re.search(r"[A-Za-z]{2,} [A-Za-z]{2,}", literal) is not None


def test_translations_have_the_words_of_the_documentation() -> None:
    strings = [str(message.string) for message in catalogue.read_catalogue() if message.id]
    other = {"말뭉치": "자료", "시연용": "데모", "측도": "척도", "지표": "척도"}
    assert [(string, used) for word, used in other.items() for string in strings if word in string] == []
