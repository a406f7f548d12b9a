from __future__ import annotations

import gettext
import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest

from shrag.cli.help import click_messages
from shrag.cli.main import COMMANDS

IN_WORDS = ("0 is one for each core",)
"""How help texts say defaults that are no values."""


def _commands(path: Sequence[str], command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            yield from _commands((*path, name), each)
    else:
        yield " ".join(path), command


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_option_with_a_default_says_it(name: str) -> None:
    for _, command in _commands([name], importlib.import_module(COMMANDS[name]).command):
        context = click.Context(command, info_name="shrag")
        for option in command.params:
            if not isinstance(option, click.Option) or option.is_flag or option.multiple:
                continue
            if option.default != "" and isinstance(option.default, str | int | float | Path):
                _, said = option.get_help_record(context) or ("", "")
                assert "default: " in said or any(words in said for words in IN_WORDS), f"{option.opts}: {said}"


def test_clicks_own_words_are_korean_for_a_korean_command_only() -> None:
    with click_messages("ko"):
        assert gettext.gettext("Usage:") == "사용법:"
    assert gettext.gettext("Usage:") == "Usage:"
