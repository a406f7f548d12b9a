"""Tests of the Korean catalogue: complete, with the same fields as the source, compiled; no bare English is raised."""

import ast
import re
from collections.abc import Iterator
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


def test_no_value_of_a_message_is_bare_english() -> None:
    """A value is followed to where its name gets it, or to the function that returns it, in the same file."""
    bare = []
    for file in (file for package in (*TRANSLATED, "bundle") for file in sorted((ROOT / package).rglob("*.py"))):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        sources = _sources(tree)
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node) == "Text"):
            for value in (keyword.value for keyword in call.keywords):
                names = {node.id for node in _untranslated(value) if isinstance(node, ast.Name)}
                found = [source for name in names for source in sources.get(name, ())]
                if _has_word(value) or any(map(_has_english, (value, *found))):
                    bare.append(f"{file.relative_to(ROOT)}:{call.lineno}")
    assert bare == []


def _sources(tree: ast.AST) -> dict[str, list[ast.expr]]:
    """Return what each name is set to, and what each function returns."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in (each for each in node.targets if isinstance(each, ast.Name)):
                found.setdefault(target.id, []).append(node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            found.setdefault(node.target.id, []).append(node.value)
        elif isinstance(node, ast.FunctionDef):
            returned = [each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value]
            found.setdefault(node.name, []).extend(returned)
    return found


def _untranslated(value: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of an expression that are in no text, no option of a command and no list of names."""
    if isinstance(value, ast.Call) and _name(value) in {"Text", "option", "split"}:
        return
    yield value
    for child in ast.iter_child_nodes(value):
        yield from _untranslated(child)


def _has_english(value: ast.expr) -> bool:
    nodes = [node for node in _untranslated(value) if isinstance(node, ast.expr)]
    joiners = [node.value for node in nodes if isinstance(node, ast.Constant) and node.value in (" and ", " or ")]
    return bool(joiners) or any(map(_is_english, nodes))


def _has_word(value: ast.expr) -> bool:
    """Return whether a word, such as "none", takes the place of what is missing."""
    nodes = list(_untranslated(value))
    choices = [part for node in nodes if isinstance(node, ast.IfExp) for part in (node.body, node.orelse)]
    choices += [node.values[-1] for node in nodes if isinstance(node, ast.BoolOp)]
    words = [each.value for each in choices if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return any(word.isalpha() and word.islower() for word in words)


def test_translations_have_the_words_of_the_documentation() -> None:
    strings = [str(message.string) for message in catalogue.read_catalogue() if message.id]
    other = {"말뭉치": "자료", "시연용": "데모", "측도": "척도", "지표": "척도"}
    assert [(string, used) for word, used in other.items() for string in strings if word in string] == []
