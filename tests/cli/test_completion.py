"""Completion of ``shrag`` and ``shrag-serve`` in shells, by click."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shrag.cli.commands.serve import main as serve_main
from shrag.cli.main import run

pytestmark = pytest.mark.process

_PROGRAMS = {
    "shrag": ("from shrag.cli.main import main; main()", "_SHRAG_COMPLETE"),
    "shrag-serve": ("from shrag.cli.commands.serve import main; main()", "_SHRAG_SERVE_COMPLETE"),
}


def _complete(program: str, instruction: str, **variables: str) -> str:
    """Complete as a shell does, which starts the program."""
    code, variable = _PROGRAMS[program]
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, env={**os.environ, variable: instruction, **variables}, check=True,
    )  # fmt: skip
    return done.stdout


def _complete_here(
    patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], program: str, **variables: str
) -> str:
    """Complete in this process, which takes no second."""
    for name, value in ({_PROGRAMS[program][1]: "bash_complete"} | variables).items():
        patch.setenv(name, value)
    if program == "shrag":
        run([])
    else:
        with pytest.raises(SystemExit):
            serve_main()
    return capsys.readouterr().out


@pytest.mark.parametrize(("program", "shell"), [("shrag", "zsh"), ("shrag-serve", "fish")])
def test_the_script_for_a_shell_names_the_program(program: str, shell: str) -> None:
    script = _complete(program, f"{shell}_source")
    assert f"{_PROGRAMS[program][1]}={shell}_complete" in script
    assert f" {program}" in script


@pytest.mark.parametrize(
    ("program", "words", "offered"),
    [
        ("shrag", "shrag se", ["search", "serve"]),
        ("shrag", "shrag index ro", ["rollback"]),
        ("shrag", "shrag search --ver", ["--verify"]),
        ("shrag-serve", "shrag-serve --wor", ["--workers"]),
        ("shrag-serve", "shrag-serve --verify qu", ["quick"]),
    ],
)
def test_words_are_completed(
    program: str,
    words: str,
    offered: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    place = str(len(words.split()) - 1)
    lines = _complete_here(monkeypatch, capsys, program, COMP_WORDS=words, COMP_CWORD=place).splitlines()
    assert lines == [f"plain,{word}" for word in offered]


@pytest.mark.parametrize(
    ("program", "words", "offered"),
    [
        ("shrag", "shrag ask d", ["demo"]),
        ("shrag", "shrag corpus show d", ["demo"]),
        ("shrag", "shrag index verify de", ["demo"]),
        ("shrag", "shrag corpus show x", []),
        ("shrag-serve", "shrag-serve d", ["demo"]),
    ],
)
def test_names_of_corpora_and_indexes_are_completed(
    program: str,
    words: str,
    offered: list[str],
    demo_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    place = str(len(words.split()) - 1)
    variables = {"COMP_WORDS": words, "COMP_CWORD": place, "SHRAG_HOME": str(demo_home)}
    by_variable = _complete_here(monkeypatch, capsys, program, **variables).splitlines()
    assert [line for line in by_variable if line] == [f"plain,{word}" for word in offered]
    named = words.replace(program, f"{program} --home {demo_home}", 1)
    place = str(len(named.split()) - 1)
    variables = {"COMP_WORDS": named, "COMP_CWORD": place, "SHRAG_HOME": str(tmp_path)}
    by_option = _complete_here(monkeypatch, capsys, program, **variables)
    assert by_option.splitlines() == by_variable
