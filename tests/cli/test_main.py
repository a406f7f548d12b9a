"""The command line as a whole: exit statuses of errors and of closed pipes."""

from __future__ import annotations

import errno
import os
import sys
from io import StringIO
from pathlib import Path

import click
import pytest

from shrag.bundle.errors import BundleDependencyMissing, BundleError
from shrag.cli import main
from shrag.cli.output import Verbosity, verbosity
from shrag.corpora.errors import ConfigurationRejected, CorpusError
from shrag.corpora.files import MACHINE_ERRORS, DiskFailed, DiskFull
from shrag.evaluation.errors import EvaluationError, ExperimentRejected, PlotLibraryMissing, ResultsMismatch
from shrag.indexing.errors import (
    DependencyMissing,
    DictionaryRejected,
    EngineUnavailable,
    GlossaryRejected,
    IndexDamaged,
    IndexingError,
    IndexMismatch,
    IndexMissing,
    TooManyCandidates,
    TooManyRejectedRecords,
    UnknownEncoder,
)
from shrag.messages.text import Text
from shrag.models.errors import (
    BudgetTooSmall,
    GpuMissing,
    InvalidOutput,
    ModelRefused,
    ModelUnavailable,
    OutOfMemory,
    PackageMissing,
    PlanRejected,
    ServerProgramMissing,
    UnknownArchitecture,
    UnknownName,
    WeightsMissing,
    WeightsRejected,
)
from shrag.serving.errors import (
    AddressTaken,
    KeyRejected,
    QuestionError,
    SettingRejected,
    StrategyUnavailable,
    UnknownReranker,
    UnknownStrategy,
)

STATUS: dict[int, tuple[type[Exception], ...]] = {
    1: (IndexingError,),
    2: (
        *(AddressTaken, ConfigurationRejected, PlanRejected, SettingRejected, UnknownEncoder, UnknownName),
        *(UnknownReranker, UnknownStrategy),
    ),
    3: (
        *(CorpusError, DictionaryRejected, EvaluationError, GlossaryRejected, KeyRejected, ModelRefused, QuestionError),
        *(TooManyCandidates, TooManyRejectedRecords, UnknownArchitecture, WeightsRejected, BundleError),
        ExperimentRejected,
    ),
    4: (IndexDamaged, IndexMismatch, IndexMissing, ResultsMismatch, StrategyUnavailable),
    5: (BudgetTooSmall, DiskFailed, DiskFull, OutOfMemory),
    6: (
        *(BundleDependencyMissing, DependencyMissing, EngineUnavailable, GpuMissing, InvalidOutput, ModelUnavailable),
        *(PackageMissing, PlotLibraryMissing, ServerProgramMissing, WeightsMissing),
    ),
}


@pytest.mark.parametrize(
    ("error", "status"), [(error, status) for status, errors in STATUS.items() for error in errors]
)
def test_each_error_is_one_line_and_has_its_exit_status(
    error: type[Exception], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    raised = error.__new__(error, "What is wrong: what to do.")
    assert main._report(raised) == status
    assert capsys.readouterr() == ("", "shrag: What is wrong: what to do.\n")


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "shrag: The memory is used up: close some programs, or raise the limit of this process (`ulimit -v`)."),
        ("ko", "shrag: 메모리가 부족합니다. 다른 프로그램을 종료하거나 이 프로세스의 한도를 늘려 주세요(`ulimit -v`)."),
    ],
)
def test_memory_that_is_used_up_is_one_line_and_exit_status_5(
    language: str, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHRAG_LANG", language)
    monkeypatch.setattr(main, "read_config", lambda *_: bytes(1 << 62))
    assert main.run(["doctor"]) == 5
    assert capsys.readouterr() == ("", f"{said}\n")


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (
            errno.EACCES,
            "(Permission denied): give this user permission to use it, or choose another folder with --home.",
        ),
        (
            errno.EROFS,
            "(Read-only file system): give this user permission to use it, or choose another folder with --home.",
        ),
        (errno.ENOENT, "(No such file or directory): check the path, or choose another folder with --home."),
    ],
)
def test_a_path_that_cannot_be_used_is_named_with_the_way_out_and_exit_status_2(
    number: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main._report(OSError(number, os.strerror(number), str(tmp_path / "a"))) == 2
    assert capsys.readouterr().err == f"shrag: {tmp_path / 'a'} cannot be used {said}\n"


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC])
def test_what_the_machine_has_no_more_of_is_said_with_exit_status_5(
    number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main._report(OSError(number, "used up", "/a")) == 5
    assert capsys.readouterr().err == f"shrag: /a cannot be used (used up): {MACHINE_ERRORS[number]}.\n"


@pytest.mark.parametrize("name", [os.fsencode("논문"), "논문", 7])
def test_a_path_of_bytes_or_a_file_descriptor_is_shown_as_text(
    name: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main._report(OSError(errno.ENOENT, "No such file or directory", name)) == 2
    assert capsys.readouterr().err.startswith(f"shrag: {name if name == 7 else '논문'} cannot be used (No such file")


def test_a_file_where_a_folder_is_needed_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").write_text("")
    assert main._report(NotADirectoryError(errno.ENOTDIR, "", str(tmp_path / "a" / "b"))) == 2
    assert capsys.readouterr().err.startswith(f"shrag: {tmp_path / 'a'} is not a folder, and a folder is needed there")


def test_only_our_own_messages_of_usage_are_put_into_the_language() -> None:
    for error in (click.UsageError("plain"), click.ClickException(Text("ours")), click.FileError("a", "b")):
        assert main._localised(error) is error
    ours = click.BadParameter(Text("There is no command {name!r}.{hint}", name="x", hint=""), param_hint="--x")
    found = main._localised(ours)
    assert isinstance(found, click.BadParameter)
    assert (found.message, found.param_hint) == ("There is no command 'x'.", "--x")


class _ClosedPipe(StringIO):
    def flush(self) -> None:
        raise BrokenPipeError


def test_a_pipe_that_was_closed_before_the_last_line_changes_no_exit_status(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    called: list[tuple[list[str], str]] = []

    def run(arguments: list[str], program: str) -> int:
        called.append((arguments, program))
        return 3

    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(main, "run", run)
    monkeypatch.setattr(sys, "argv", ["/bin/shrag", "search", "demo"])
    main.main()
    monkeypatch.setattr(sys, "stdout", _ClosedPipe())
    monkeypatch.setattr(sys, "stderr", _ClosedPipe())
    main.main("shrag-serve")
    assert ended == [3, 3]
    assert called == [(["search", "demo"], "shrag"), (["search", "demo"], "shrag-serve")]


def _raise(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize(
    ("unread", "status", "says"), [(True, 0, ""), (False, 1, "shrag: unexpected RuntimeError: BrokenPipeError: ")]
)
def test_a_broken_pipe_is_quiet_only_if_it_is_stdout(
    unread: bool, status: int, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(main, "print_folders", lambda *_: _raise(BrokenPipeError(errno.EPIPE, "p")))
    monkeypatch.setattr(main, "is_unread", lambda stream: unread)
    assert main.run(["doctor"]) == status
    assert capsys.readouterr().err.startswith(says)


def test_an_unexpected_error_has_its_traceback_only_where_it_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    # An error of the system without a path, which is no question of rights, is unexpected too.
    for error, named in ((RuntimeError("odd"), "RuntimeError: odd"), (OSError(errno.EPIPE, "p"), "BrokenPipeError: ")):
        assert main._report(error) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"shrag: unexpected {named}")
        assert line.endswith("(run it again with `shrag -v` and report the traceback).")
    before = verbosity.set(Verbosity.VERBOSE)
    try:
        with pytest.raises(RuntimeError) as raised:
            _raise(RuntimeError("odd"))
        assert main._report(raised.value) == 1
    finally:
        verbosity.reset(before)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-2:] == ["RuntimeError: odd", "shrag: unexpected RuntimeError: odd (report the traceback)."]


@pytest.mark.parametrize(
    ("end", "status", "says"),
    [
        (KeyboardInterrupt(), 130, "Interrupted.\n"),
        (click.Abort(), 130, "Interrupted.\n"),
        (SystemExit(1), 0, ""),  # click ends so where nobody reads what is printed
        (CorpusError("Odd: do it."), 3, "shrag: Odd: do it.\n"),
    ],
)
def test_how_a_command_ends_is_its_exit_status(
    end: BaseException, status: int, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(main, "read_config", lambda *_: _raise(end))
    assert main.run(["doctor"]) == status
    assert capsys.readouterr() == ("", says)


@pytest.mark.parametrize(("returned", "status"), [(None, 0), (0, 0), (4, 4), ("text", 0)])
def test_the_number_that_a_command_returns_is_its_exit_status(
    returned: object, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main.shrag, "main", lambda *_, **__: returned)
    assert main.run(["doctor"]) == status


def test_a_command_that_there_is_not_is_named_with_the_most_similar_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["serch", "demo"]) == 2
    assert "Error: There is no command 'serch'. Did you mean search?" in capsys.readouterr().err
    assert main.run(["--nope", "demo"]) == 2
    assert "No such option '--nope'." in capsys.readouterr().err
    assert main.run(["-h"]) == 0
    assert "Usage: shrag [OPTIONS] COMMAND" in capsys.readouterr().out
