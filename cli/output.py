"""Output of commands: JSON lines on stdout, progress on stderr."""

from __future__ import annotations

import json
import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from enum import Enum
from pathlib import Path
from typing import TextIO

import click
from rich.cells import cell_len
from rich.console import Console

from shrag.cli.stages import stage_text
from shrag.corpora.text.terminal import escape_controls
from shrag.messages.text import Language, Text, in_language

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")


class Verbosity(Enum):
    """What is printed on stderr."""

    QUIET = "errors only"
    NORMAL = "progress and messages"
    VERBOSE = "where things are found, and tracebacks too"


verbosity: ContextVar[Verbosity] = ContextVar("verbosity", default=Verbosity.NORMAL)
"""Set for one command line by ``-q`` and ``-v``."""

language: ContextVar[Language] = ContextVar("language", default="en")
"""The language of a command line's messages."""


yes_option = click.option("--yes", is_flag=True, help="Delete without asking for confirmation.")


def ask_before_deleting(what: str, *, yes: bool) -> None:
    """Print what is to be deleted, and ask for confirmation unless ``yes``.

    Raises:
        click.Abort: The answer is no.
        click.UsageError: There is no terminal to ask on, and ``yes`` is false.
    """
    if yes:
        echo(Text("{what}.", what=what), err=True)
        return
    echo_error(Text("{what}.", what=what))
    if not sys.stdin.isatty():
        raise click.UsageError(
            Text("There is no terminal for the confirmation, and nothing was deleted: add --yes to delete.")
        )
    if not click.confirm(shown(Text("Delete?")), err=True):
        echo_error(Text("Nothing was deleted."))
        raise click.Abort


def echo(text: object, *, err: bool = False, nl: bool = True) -> None:
    """Print ``text`` in the command line's language, on stderr if ``err``, with a newline if ``nl``.

    Control characters are escaped, so a terminal executes nothing. With ``-q`` nothing is printed on stderr;
    :func:`echo_error` prints errors.
    """
    if not err:
        click.echo(escape_controls(shown(text)), nl=nl)
    elif verbosity.get() is not Verbosity.QUIET:
        echo_error(text, nl=nl)


def echo_error(text: object, *, nl: bool = True) -> None:
    """Print ``text`` on stderr as :func:`echo` does, but with ``-q`` too; it is dropped if nobody reads stderr."""
    try:
        click.echo(escape_controls(shown(text)), err=True, nl=nl)
    except BrokenPipeError:
        _drop_stderr()


def is_unread(stream: TextIO) -> bool:
    """Return whether ``stream`` is a pipe that nobody reads any more."""
    poll = select.poll()
    poll.register(stream, 0)
    return bool(poll.poll(0))  # a pipe without a reader is reported as an error, which needs no registration


def _drop_stderr() -> None:
    """Send all further output to stderr to nowhere, including that of libraries and of processes started later."""
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stderr.fileno())


class _Console(Console):
    def on_broken_pipe(self) -> None:  # rich would end the process
        _drop_stderr()


def echo_or_drop(text: object) -> None:
    """Print ``text`` on stderr as :func:`echo` does, or drop it if nobody reads stderr.

    It is for processes that supervise others: they must neither wait for a reader nor end because there is none.
    """
    with suppress(OSError, ValueError):  # the pipe is broken, the terminal is gone, or stderr is closed
        if select.select([], [sys.stderr], [], 0)[1]:  # else the pipe is full
            echo(text, err=True)


def shown(text: object) -> str:
    """Return ``text`` in the command line's language."""
    return in_language(text, language.get())


def padded(text: object, width: int) -> str:
    """Return ``text`` in the command line's language, padded with blanks to ``width`` columns of a terminal.

    A Hangul syllable takes two columns.
    """
    words = shown(text)
    return words + " " * (width - cell_len(words))


def json_line(value: object) -> str:
    """Return ``value`` as one line of JSON. Surrogates, as in names of files that are not UTF-8, are kept."""
    import msgspec

    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # msgspec writes UTF-8, which has no surrogates
        return json.dumps(msgspec.to_builtins(value), ensure_ascii=False, separators=(",", ":"))


def print_json(value: object) -> None:
    """Print ``value`` as one line of JSON."""
    echo(json_line(value))


_SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def progress(total: int | None = None) -> Iterator[Callable[[str, int], None]]:
    """Yield a function that takes a stage and the number of items done, and shows them on stderr.

    A terminal shows a bar. Elsewhere a line is printed every few seconds. ``total`` is the number of items, or None if
    it is unknown.
    """
    console, chosen = _Console(stderr=True), language.get()  # read here, since another thread may report
    if verbosity.get() is Verbosity.QUIET:
        yield lambda stage, done: None
    elif console.is_terminal:
        yield from _live(console, total, chosen)
    else:
        yield from _plain(console, total, chosen)


def _live(console: Console, total: int | None, chosen: Language) -> Iterator[Callable[[str, int], None]]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("", total=total)

        def report(stage: str, done: int) -> None:
            shown = in_language(stage_text(stage), chosen)
            bar.update(task, description=escape_controls(shown), completed=done)

        yield report


def _plain(console: Console, total: int | None, chosen: Language) -> Iterator[Callable[[str, int], None]]:
    printed = time.monotonic()

    def report(stage: str, done: int) -> None:
        nonlocal printed
        if time.monotonic() - printed >= _SECONDS_BETWEEN_LINES:
            printed = time.monotonic()
            line = Text("{stage}: {done:,}", stage=stage_text(stage), done=done)
            if total:
                line = Text("{line} of {total:,}", line=line, total=total)
            console.print(escape_controls(in_language(line, chosen)), highlight=False, markup=False)

    yield report
