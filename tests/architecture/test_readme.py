"""The README's Python and its question on the command line give what it shows."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from shrag.cli.main import run

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_ten_lines_of_the_readme_run_with_the_output_shown(
    demo_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    results = doctest.testfile(str(README), module_relative=False, encoding="utf-8")
    assert results.attempted == 8
    assert results.failed == 0


def test_the_answer_of_the_readme_is_that_of_the_command(
    demo_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    (block,) = re.findall(r"^```console\n\$ (shrag ask .*?)^```$", README.read_text(encoding="utf-8"), re.M | re.S)
    command, _, shown = block.partition("\n")
    assert run(shlex.split(command)[1:]) == 0
    printed = capsys.readouterr().out.rstrip("\n")
    # Its lines are broken, and … stands for sentences left out.
    parts = [".*".join(re.escape(part) for part in line.split("…")) for line in shown.splitlines()]
    assert re.fullmatch(r"\s".join(parts), printed, re.S), printed
