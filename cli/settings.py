"""The folders in the data folder, and the configuration file ``shrag.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.types import FloatParamType, IntParamType
from click_default_group import DefaultGroup

from shrag.corpora.data_folder import CONFIG_FILE, home_of, read_toml
from shrag.corpora.errors import ConfigurationRejected
from shrag.corpora.near_names import did_you_mean
from shrag.messages.language import AUTO
from shrag.messages.text import Text, message_of

_LANG = "lang"

ENGINE_KEYS = ("engine", "engine_address", "engine_key_file", "engine_timeout")
"""The top-level keys of the search engine. They hold for every command."""

_LANGUAGES = (AUTO, "ko", "en")


@dataclass(frozen=True, slots=True)
class Home:
    """The data folder: corpora, indexes, weights and results. ``path`` is absolute."""

    path: Path

    @property
    def corpora(self) -> Path:
        """Stored corpora, one folder each."""
        return self.path / "corpora"

    @property
    def indexes(self) -> Path:
        """Published indexes, one folder each."""
        return self.path / "indexes"

    @property
    def weights(self) -> Path:
        """Weights of models, one folder each, copied there by the user."""
        return self.path / "weights"

    @property
    def runs(self) -> Path:
        """Results of experiments, one folder each."""
        return self.path / "runs"

    def find_run(self, given: Path) -> Path:
        """Return a results folder: ``given`` if it is a folder, else the folder of that name under :attr:`runs`."""
        return given if given.is_dir() else self.runs / given


def configured_language(path: Path | None) -> str:
    """Return the value of ``lang`` in the configuration file ``path``, or ``auto`` if it has none.

    An unreadable file also gives ``auto``: :func:`read_config` reports its errors, in the language of the locale.
    """
    try:
        return AUTO if path is None else str(read_toml(path).get(_LANG, AUTO))
    except (ConfigurationRejected, OSError):
        return AUTO


def read_config(path: Path | None, commands: Mapping[str, object]) -> dict[str, Any]:
    """Return the contents of the configuration file ``path``, empty for None.

    - ``home`` is the data folder. The result has it as an absolute path, even if the file does not set it.
    - ``lang`` is checked and left out; :func:`configured_language` returns it.
    - ``engine`` and the keys that begin with it hold for all commands (:mod:`shrag.cli.options.engine`).
    - A table has the options of a command: ``[search]`` with ``k = 5`` means ``shrag search -k 5``.
    - ``[llm]`` is the language model of all commands (:mod:`shrag.cli.options.model`).

    The command line and ``SHRAG_*`` variables take precedence.

    Raises:
        click.UsageError: The TOML is invalid, or it has an unknown key or language, or an option of the search engine
            that is neither text nor a number.
    """
    if path is None:
        return {}
    try:
        config = read_toml(path)
        home = home_of(path, config)
    except ConfigurationRejected as error:
        raise click.UsageError(message_of(error)) from None
    known = {"home", _LANG, "llm", *ENGINE_KEYS, *commands}
    for key in config:
        if key not in known:
            raise click.UsageError(
                Text(
                    "{path} has the unknown key {key!r}: use {known}.{hint}",
                    path=path,
                    key=key,
                    known=", ".join(sorted(known)),
                    hint=did_you_mean(key, known),
                )
            )
        if key in ENGINE_KEYS:
            _check_type(config[key], key, path, is_path=key == "engine_key_file")
    if config.pop(_LANG, AUTO) not in _LANGUAGES:
        raise click.UsageError(
            Text("{key} in {path} must be one of {known}.", key=_LANG, path=path, known=", ".join(_LANGUAGES))
        )
    return {**config, "home": str(home)}


def check_options(section: object, command: click.Command, where: str) -> None:
    """Check ``section``, the table ``where`` of the configuration file, and the tables of subcommands in it.

    Values are checked only for their TOML type. Click checks the rest when the command is called.

    Raises:
        click.UsageError: ``section`` is not a table, ``command`` has no option of a name in it, or the option cannot
            have a value of that type.
    """
    if not isinstance(section, Mapping):
        raise click.UsageError(
            Text(
                "{table} in {config_file} must be a table: write [{table}] and its keys below it.",
                table=where,
                config_file=CONFIG_FILE,
            )
        )
    options = {parameter.name: parameter for parameter in command.params if parameter.name}
    subcommands = command.commands if isinstance(command, click.Group) else {}
    if isinstance(command, DefaultGroup):
        default = subcommands[command.default_cmd_name]
        options |= {parameter.name: parameter for parameter in default.params if parameter.name}
    known = {*options, *subcommands}
    for key, value in section.items():
        if key in subcommands:
            check_options(value, subcommands[key], f"{where}.{key}")
        elif key in options:
            _check_value(value, options[key], where)
        else:
            raise click.UsageError(
                Text(
                    "[{where}] in {config_file} has no option {key!r}: use {known}.{hint}",
                    where=where,
                    config_file=CONFIG_FILE,
                    key=key,
                    known=", ".join(sorted(known)),
                    hint=did_you_mean(key, known),
                )
            )


def _check_value(value: object, parameter: click.Parameter, where: str) -> None:
    many = parameter.nargs != 1 or getattr(parameter, "multiple", False)
    if many and isinstance(value, (str, int, float)):
        raise click.UsageError(
            Text(
                "{key} in {config_file} is {value}: write {expected}.",
                key=f"{where}.{parameter.name}",
                config_file=CONFIG_FILE,
                value=value,
                expected=Text("a list in brackets"),
            )
        )
    for each in value if many and isinstance(value, list) else [value]:
        _check_type(each, f"{where}.{parameter.name}", CONFIG_FILE, is_path=isinstance(parameter.type, click.Path))
        _check_number(each, f"{where}.{parameter.name}", parameter.type)


def _check_number(value: object, key: str, kind: click.ParamType[Any]) -> None:
    """Raise ``click.UsageError`` for a number that click would change: it makes 2 of 2.5, and 1 of true."""
    whole = isinstance(kind, IntParamType)
    if not whole and not isinstance(kind, FloatParamType):
        return
    if isinstance(value, bool) or (whole and isinstance(value, float) and not value.is_integer()):
        raise click.UsageError(
            Text(
                "{key} in {config_file} is {value}: write {expected}.",
                key=key,
                config_file=CONFIG_FILE,
                value=str(value).lower(),
                expected=Text("a whole number") if whole else Text("a number"),
            )
        )


def _check_type(value: object, key: str, config_file: Path | str, *, is_path: bool) -> None:
    """Raise ``click.UsageError`` for a value that click cannot convert: it converts only text and numbers."""
    if not isinstance(value, str if is_path else (str, int, float)):
        raise click.UsageError(
            Text(
                "{key} in {config_file} is {value}: write {expected}.",
                key=key,
                config_file=config_file,
                value=value,
                expected=Text("a path in quotes") if is_path else Text("text in quotes, a number, true or false"),
            )
        )
