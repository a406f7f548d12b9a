"""Messages of the command line on stderr: printed if somebody reads them, dropped without waiting if not."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

import click
import pytest
from rich.console import Console

from shrag.cli import output
from shrag.cli.output import (
    Verbosity,
    ask_before_deleting,
    echo,
    echo_error,
    echo_or_drop,
    is_unread,
    padded,
    progress,
    verbosity,
)


@contextmanager
def _piped() -> Iterator[tuple[int, TextIO]]:
    """Make stderr a pipe; give its end to read from, and stderr. A fixture would come before pytest's own stderr."""
    read_end, write_end = os.pipe()
    stream, before = os.fdopen(write_end, "w"), sys.stderr
    sys.stderr = stream
    try:
        yield read_end, stream
    finally:
        sys.stderr = before
        with suppress(OSError):  # text that could not be written
            stream.close()
        with suppress(OSError):
            os.close(read_end)


def test_a_message_is_printed_where_somebody_reads() -> None:
    with _piped() as (reader, _):
        echo_or_drop("Worker 1 ended.")
        assert os.read(reader, 100) == b"Worker 1 ended.\n"


def test_a_message_is_dropped_where_the_reader_has_gone() -> None:
    with _piped() as (reader, _):
        os.close(reader)
        echo_or_drop("Worker 1 ended.")


def test_a_command_goes_on_where_nobody_reads_its_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "_SECONDS_BETWEEN_LINES", 0.0)
    messages: list[Callable[[], None]] = [lambda: echo("a", err=True), lambda: echo_error("b"), _report_progress]
    for said in messages:
        with _piped() as (reader, stderr):
            os.close(reader)
            assert is_unread(stderr)
            said()
            said()  # what was left of the first message is no trouble to the second
            assert not is_unread(stderr)


def _report_progress() -> None:
    with progress() as report:
        report("lines read", 1)
        report("lines read", 2)


def test_a_pipe_is_unread_once_its_reader_has_gone() -> None:
    with _piped() as (reader, stderr):
        assert not is_unread(stderr)
        os.close(reader)
        assert is_unread(stderr)


def test_a_message_is_dropped_where_stderr_is_closed() -> None:
    with _piped() as (_, stderr):
        stderr.close()
        echo_or_drop("Worker 1 ended.")


def test_a_message_is_dropped_at_once_where_the_reader_is_too_slow() -> None:
    with _piped() as (reader, stderr):
        os.set_blocking(stderr.fileno(), False)
        with suppress(BlockingIOError):
            while os.write(stderr.fileno(), b"x" * 512):
                pass
        os.set_blocking(stderr.fileno(), True)
        echo_or_drop("Worker 1 ended.")  # would wait for ever
        assert b"Worker" not in os.read(reader, 1 << 20)


@contextmanager
def _only(chosen: Verbosity) -> Iterator[None]:
    before = verbosity.set(chosen)
    try:
        yield
    finally:
        verbosity.reset(before)


class _Terminal:
    """A standard input that is a terminal, or is not."""

    def __init__(self, *, is_terminal: bool) -> None:
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


def test_what_is_deleted_is_said_and_asked_about_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer, asked = True, list[tuple[str, bool]]()

    def confirm(text: str, *, err: bool) -> bool:
        asked.append((text, err))
        return answer

    monkeypatch.setattr(click, "confirm", confirm)
    ask_before_deleting("This deletes all", yes=True)
    assert capsys.readouterr() == ("", "This deletes all.\n")
    with _only(Verbosity.QUIET):
        ask_before_deleting("This deletes all", yes=True)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys, "stdin", _Terminal(is_terminal=False))
    with (
        _only(Verbosity.QUIET),
        pytest.raises(click.UsageError, match=r"no terminal .* nothing was deleted: add --yes"),
    ):
        ask_before_deleting("This deletes all", yes=False)
    assert (capsys.readouterr(), asked) == (("", "This deletes all.\n"), [])
    monkeypatch.setattr(sys, "stdin", _Terminal(is_terminal=True))
    ask_before_deleting("This deletes all", yes=False)
    assert asked == [("Delete?", True)]
    assert capsys.readouterr() == ("", "This deletes all.\n")
    answer = False
    with pytest.raises(click.Abort):
        ask_before_deleting("This deletes all", yes=False)
    assert capsys.readouterr() == ("", "This deletes all.\nNothing was deleted.\n")


def test_without_a_terminal_progress_is_a_line_every_five_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr("shrag.cli.output.time.monotonic", lambda: now)

    def lines(total: int | None) -> list[str]:
        nonlocal now
        with progress(total) as report:
            for seconds, done in ((4.9, 500), (0.1, 1_000), (4.0, 1_500), (2.0, 2_000)):
                now += seconds
                report("records indexed", done)
        return capsys.readouterr().err.splitlines()

    assert lines(3_000) == ["records indexed: 1,000 of 3,000", "records indexed: 2,000 of 3,000"]
    assert lines(None) == ["records indexed: 1,000", "records indexed: 2,000"]
    with _only(Verbosity.QUIET):
        assert lines(3_000) == []


def test_a_hangul_syllable_is_padded_as_two_columns() -> None:
    assert padded("색인", 6) + "|" == "색인  |"
    assert padded("index", 6) + "|" == "index |"
    assert padded("a long name", 6) == "a long name"


@pytest.mark.parametrize("stage", ["model[awq]: demo/or", "[/models/large]: demo/or"])
def test_brackets_in_the_name_of_a_stage_are_shown_and_no_markup(stage: str) -> None:
    shown = io.StringIO()
    with contextmanager(output._live)(Console(file=shown, force_terminal=True, width=120), 3, "en") as report:
        report(stage, 1)
    assert stage in shown.getvalue()
