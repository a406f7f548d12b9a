"""The command line as a whole: exit statuses of errors and of closed pipes."""

from __future__ import annotations

import os
import sys
from io import StringIO

import pytest

from shrag.cli import main
from shrag.corpora.errors import CorpusError
from shrag.corpora.files import DiskFull
from shrag.evaluation.errors import EvaluationError, PlotLibraryMissing, ResultsMismatch
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
from shrag.models.errors import (
    BudgetTooSmall,
    InvalidOutput,
    ModelRefused,
    ModelUnavailable,
    OutOfMemory,
    PlanRejected,
    UnknownArchitecture,
    UnknownName,
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
    2: (AddressTaken, PlanRejected, SettingRejected, UnknownEncoder, UnknownName, UnknownReranker, UnknownStrategy),
    3: (
        *(CorpusError, DictionaryRejected, EvaluationError, GlossaryRejected, KeyRejected, ModelRefused, QuestionError),
        *(TooManyCandidates, TooManyRejectedRecords, UnknownArchitecture, WeightsRejected),
    ),
    4: (IndexDamaged, IndexMismatch, IndexMissing, ResultsMismatch, StrategyUnavailable),
    5: (BudgetTooSmall, DiskFull, OutOfMemory),
    6: (DependencyMissing, EngineUnavailable, InvalidOutput, ModelUnavailable, PlotLibraryMissing),
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


class _ClosedPipe(StringIO):
    def flush(self) -> None:
        raise BrokenPipeError


def test_a_pipe_that_was_closed_before_the_last_line_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(main, "run", lambda *_: 3)
    main.main()
    monkeypatch.setattr(sys, "stdout", _ClosedPipe())
    main.main()
    assert ended == [3, 0]
