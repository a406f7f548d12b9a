"""Translation of the commands' help texts and of click's own messages."""

from __future__ import annotations

import copy
import gettext
import inspect
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import click

from shrag.messages.text import DOMAIN, LOCALE, Language, translate

_Command = TypeVar("_Command", bound=click.Command)

_GETTEXT_LANGUAGE = "LANGUAGE"
"""The environment variable that gettext reads first."""


def translated(command: _Command, language: Language) -> _Command:
    """Return a copy of ``command`` whose help, options and subcommands are translated into ``language``."""
    if language == "en":
        return command
    result = copy.copy(command)
    result.help = translate(inspect.cleandoc(command.help or ""), language)
    result.params = [_translated_parameter(each, language) for each in command.params]
    if isinstance(result, click.Group):
        result.commands = {name: translated(each, language) for name, each in result.commands.items()}
    return result


def _translated_parameter(parameter: click.Parameter, language: Language) -> click.Parameter:
    if not isinstance(parameter, click.Option) or not parameter.help:
        return parameter
    result = copy.copy(parameter)
    result.help = translate(parameter.help, language)
    if isinstance(parameter.show_default, str):
        result.show_default = translate(parameter.show_default, language)
    return result


@contextmanager
def click_messages(language: Language) -> Iterator[None]:
    """Translate click's own messages into ``language`` while the context is open.

    Click asks gettext for them, so this points gettext to SHRAG's catalog.
    """
    if language == "en":
        yield
        return
    domain, variable = gettext.textdomain(), os.environ.get(_GETTEXT_LANGUAGE)
    gettext.bindtextdomain(DOMAIN, str(LOCALE))
    gettext.textdomain(DOMAIN)
    os.environ[_GETTEXT_LANGUAGE] = language
    try:
        yield
    finally:
        gettext.textdomain(domain)
        if variable is None:
            del os.environ[_GETTEXT_LANGUAGE]
        else:
            os.environ[_GETTEXT_LANGUAGE] = variable
