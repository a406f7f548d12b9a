"""Write the generated pages of the reference: commands, settings, HTTP addresses, Python functions and classes.

    python deploy/reference_pages.py        # or `make reference`

The pages are committed, since the build of the documentation lacks the packages that they are made with. A test checks
that they are up to date.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import griffe

from shrag.cli.main import COMMANDS, shrag

_ROOT = Path(__file__).resolve().parents[1]
FOLDER = _ROOT / "docs" / "en" / "reference"

_CLASSES = (
    "serving.engine.Engine",
    "serving.results.SearchResult",
    "serving.results.AskResult",
    "serving.events.RankedRecord",
    "corpora.records.Record",
    "indexing.record_filter.RecordFilter",
    "evaluation.run_evaluation.RunEvaluation",
    "models.chat.client.OpenAIModel",
)
"""The classes that the functions of ``shrag`` take and return."""


def commands_page() -> str:
    """Return the page of all commands with their options."""
    lines = ["# Commands", "", "Made of the commands' own help; `shrag COMMAND --help` prints the same."]
    lines += ["", "Every command has these options before its name:", "", *_options(shrag)]
    for name in sorted(COMMANDS):
        lines += _command(["shrag", name], importlib.import_module(COMMANDS[name]).command, "##")
    return "\n".join(lines) + "\n"


def _command(path: list[str], command: click.Command, heading: str) -> Iterator[str]:
    words = " ".join([*path, *(each.make_metavar(click.Context(command)) for each in _arguments(command))])
    options = " [OPTIONS]" if _visible(command) else ""
    yield from ("", f"{heading} {' '.join(path)}", "", f"`{' '.join(path)}{options}{words[len(' '.join(path)) :]}`", "")
    paragraphs = inspect.cleandoc(command.help or "").replace("\b\n", "").split("\n\n")
    yield "\n\n".join(_prose(paragraph) for paragraph in paragraphs)
    if _visible(command):
        yield from ("", *_options(command))
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            yield from _command([*path, name], command.commands[name], "###")


def _prose(paragraph: str) -> str:
    """Return a paragraph of a command's help as Markdown, with an example as code."""
    example = re.fullmatch(r"Examples?: (.+)", " ".join(paragraph.split()))
    return f"Example: `{example[1]}`" if example else _plain(" ".join(paragraph.split()))


def _plain(text: str) -> str:
    """Return ``text`` with Markdown's special characters escaped outside of code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if at % 2 else re.sub(r"([*_<>|\[\]])", r"\\\1", part) for at, part in enumerate(parts))


def _arguments(command: click.Command) -> list[click.Argument]:
    return [each for each in command.params if isinstance(each, click.Argument)]


def _visible(command: click.Command) -> list[click.Option]:
    return [each for each in command.params if isinstance(each, click.Option) and not each.hidden]


def _options(command: click.Command) -> Iterator[str]:
    yield from ("| option | meaning |", "| --- | --- |")
    context = click.Context(command, info_name=command.name)
    for option in _visible(command):
        record = option.get_help_record(context)
        if record is not None:
            names, text = record
            yield f"| `{names.replace('|', chr(92) + '|')}` | {_plain(' '.join(text.split()))} |"


def settings_page() -> str:
    """Return the page of ``shrag.toml``: its keys, and the variable and the option of each."""
    lines = [
        "# shrag.toml and SHRAG_* variables",
        "",
        "Made of the commands' options. `shrag init` writes a `shrag.toml` whose lines are comments. Most keys are the",
        "names of their options with `_` for `-`; some are not, such as `form` for `--format`. The command line comes",
        "before the variable, and that before the file. Which file is read:",
        "[The command line](command-line.md#where-things-are-found).",
        "",
        'An option that can be repeated has a list in the file: `language = ["ko", "en"]`. In the variable, its values',
        "stand between blanks, and paths between colons.",
        "",
        "At the top of the file: `home`, the data folder, relative to the file; `lang`, the language of messages and",
        "help (`auto`, that of the locale; `ko`; `en`), which `SHRAG_LANG` overrides; `engine`, `engine_address`,",
        "`engine_key_file` and `engine_timeout`, for all commands that have these options",
        "([Search on Milvus or Qdrant](../how-to/distributed-engine.md)). `[llm]` is the language model:",
        "[The language model](../how-to/language-model.md).",
    ]
    for name in sorted(COMMANDS):
        lines += _settings([name], importlib.import_module(COMMANDS[name]).command)
    return "\n".join(lines) + "\n"


def _settings(path: list[str], command: click.Command) -> Iterator[str]:
    """Yield the table of a command and those of its subcommands."""
    default = getattr(command, "default_cmd_name", None)
    subcommands = command.commands if isinstance(command, click.Group) else {}
    rows = [each for each in _visible(subcommands[default] if default else command) if each.name and not each.is_eager]
    if rows:
        yield from ("", f"## [{'.'.join(path)}]", "", "| key | variable | option |", "| --- | --- | --- |")
        prefix = "_".join(["SHRAG", *path, *([default] if default else [])]).upper()
        for option in rows:
            variable = option.envvar if isinstance(option.envvar, str) else f"{prefix}_{str(option.name).upper()}"
            yield f"| `{option.name}` | `{variable}` | `{max(option.opts, key=len)}` |"
    for name in sorted(subcommands):
        if name != default:
            yield from _settings([*path, name], subcommands[name])


def http_page() -> str:
    """Return the page of all HTTP addresses, made of ``docs/openapi.json``."""
    document = json.loads((_ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
    lines = ["# HTTP addresses", "", "Made of [openapi.json](../../openapi.json). The running server shows the same at"]
    lines += ["`/docs/api`; [The HTTP interface](http.md) says how the parts work together."]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            lines += [
                "",
                f"## {method.upper()} {path}",
                "",
                _plain(operation.get("description") or operation["summary"]),
            ]
            lines += _parameters(operation)
            lines += ["", *_bodies(operation)]
    lines += ["", "## Schemas"]
    for name, schema in document["components"]["schemas"].items():
        lines += ["", f"### {name}", "", *_schema(schema)]
    return "\n".join(lines) + "\n"


def _parameters(operation: Mapping[str, Any]) -> Iterator[str]:
    if operation.get("parameters"):
        yield from ("", "| parameter | type | meaning |", "| --- | --- | --- |")
    for each in operation.get("parameters", ()):
        required = "Required. " if each.get("required") else ""
        yield f"| `{each['name']}` | {_type(each['schema'])} | {required}{_plain(each.get('description', ''))} |"


def _bodies(operation: Mapping[str, Any]) -> Iterator[str]:
    for content in operation.get("requestBody", {}).get("content", {}).values():
        yield f"- Body: {_type(content['schema'])}."
    for status, response in operation["responses"].items():
        kinds = [
            f"{_type(content['schema'])} (`{kind}`)" if "schema" in content else f"`{kind}`"
            for kind, content in response.get("content", {}).items()
        ]
        text = _plain(response["description"])
        yield f"- {status}: {text}{' ' + ' or '.join(kinds) if kinds and status == '200' else ''}"


def _schema(schema: Mapping[str, Any]) -> Iterator[str]:
    if schema.get("description"):
        yield from (_plain(" ".join(schema["description"].split())), "")
    if not schema.get("properties"):
        yield _type(schema)
        return
    yield from ("| field | type | meaning |", "| --- | --- | --- |")
    for name, each in schema["properties"].items():
        required = "Required. " if name in schema.get("required", ()) else ""
        yield f"| `{name}` | {_type(each)} | {required}{_plain(' '.join(each.get('description', '').split()))} |"


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{each}`" if each else '`""`' for each in schema["enum"])
    if schema.get("type") == "array":
        return f"array of {_type(schema.get('items') or {})}"
    return str(schema.get("type", "any"))


def python_page() -> str:
    """Return the page of the functions of ``shrag`` and of the classes that they take and return.

    griffe reads the source; nothing is imported.
    """
    lines = [
        "# Python functions and classes",
        "",
        "Made of the docstrings. [Python](../how-to/python.md) shows them in use.",
    ]
    package = griffe.load("shrag", search_paths=[str(_ROOT)], submodules=False)
    lines += ["", "## Functions"]
    for name in package.exports or ():
        member = package.members[str(name)]
        if isinstance(member, griffe.Function):
            lines += _function(f"shrag.{name}", member, "###")
    for path in _CLASSES:
        module, _, name = path.rpartition(".")
        file = _ROOT.joinpath(*module.split(".")).with_suffix(".py")
        found = griffe.visit(module, filepath=file, code=file.read_text(encoding="utf-8")).members[name]
        lines += _class(found, f"shrag.{module}")
    return "\n".join(lines) + "\n"


def _class(found: Any, module: str) -> Iterator[str]:  # noqa: ANN401  (griffe's objects)
    yield from ("", f"## {found.name}", "", f"`{module}.{found.name}`", "")
    yield from _docstring(found)
    for name, member in found.members.items():
        if name.startswith("_") or not member.docstring:
            continue
        if isinstance(member, griffe.Function):
            yield from _function(name, member, "###")
        elif isinstance(member, griffe.Attribute):
            yield from ("", f"### {name}", "", *_docstring(member))


def _function(name: str, function: griffe.Function, heading: str) -> Iterator[str]:
    yield from ("", f"{heading} {name}", "", "```python", f"{name}({_signature(function)})", "```", "")
    yield from _docstring(function)


def _signature(function: griffe.Function) -> str:
    parts: list[str] = []
    starred = False
    for each in function.parameters:
        if each.name in {"self", "cls"}:
            continue
        if each.kind is griffe.ParameterKind.keyword_only and not starred:
            parts, starred = [*parts, "*"], True
        default = f" = {each.default}" if each.default is not None else ""
        parts.append(f"{each.name}: {each.annotation}{default}" if each.annotation else f"{each.name}{default}")
    return ", ".join(parts)


def _docstring(found: Any) -> Iterator[str]:  # noqa: ANN401
    for section in found.docstring.parse("google") if found.docstring else ():
        match section.kind:
            case griffe.DocstringSectionKind.text:
                yield from (_roles(section.value), "")
            case griffe.DocstringSectionKind.parameters | griffe.DocstringSectionKind.attributes:
                yield from (f"- `{each.name}`: {_roles(' '.join(each.description.split()))}" for each in section.value)
                yield ""
            case griffe.DocstringSectionKind.raises:
                yield from (
                    f"- Raises `{each.annotation}`: {_roles(' '.join(each.description.split()))}"
                    for each in section.value
                )
                yield ""
            case griffe.DocstringSectionKind.returns:
                yield from (f"Returns: {_roles(' '.join(each.description.split()))}" for each in section.value)
                yield ""
            case _:
                pass


def _roles(text: str) -> str:
    """Return a docstring's text as Markdown, with names as ``code``."""
    text = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", text)
    return text.replace("``", "`")


PAGES: Mapping[str, Callable[[], str]] = {
    "commands.md": commands_page,
    "settings.md": settings_page,
    "http-routes.md": http_page,
    "python-api.md": python_page,
}
"""File name → the function that returns the page."""

if __name__ == "__main__":
    for file_name, write in PAGES.items():
        (FOLDER / file_name).write_text(write(), encoding="utf-8")
