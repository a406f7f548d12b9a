"""``--home``, ``-q`` and ``-v``, of ``shrag`` and of ``shrag-serve``."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrag.cli import main
from shrag.cli.commands import doctor
from shrag.cli.main import run
from shrag.cli.output import Verbosity, verbosity


def test_messages_have_absolute_paths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--home", "mine", "search", "sci", "x"]) == 4
    assert f"There is no index 'sci' under {tmp_path}/mine/indexes: build it" in capsys.readouterr().err
    assert run(["--home", "mine", "index", "sci"]) == 3
    assert f"({tmp_path}/mine/corpora/sci/manifest.json is missing)" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--home", "mine", "serve", "sci"], ["serve", "--home", "mine", "sci"]])
def test_the_server_takes_the_folder_as_its_own_option_too(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 4
    assert f"under {tmp_path}/mine/indexes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "variable", "used"),
    [
        (["--home", "mine", "serve", "sci"], "its", "mine"),
        (["--home", "its", "serve", "--home", "mine", "sci"], "its", "mine"),
        (["serve", "sci"], "its", "its"),
        (["serve", "sci"], "", "files"),
    ],
)
def test_the_command_line_comes_before_the_variable_and_that_before_the_folder_of_the_server_in_the_file(
    arguments: list[str],
    variable: str,
    used: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "shrag.toml").write_text('[serve]\nhome = "files"\n')
    monkeypatch.setenv("SHRAG_HOME", variable)
    monkeypatch.setenv("SHRAG_SERVE_HOME", "unread")
    assert run(arguments) == 4
    assert f"under {tmp_path}/{used}/indexes" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["-v", "serve", "sci"], ["serve", "--verbose", "sci"], ["-v", "search", "sci", "x"]]
)
def test_verbose_says_once_where_things_are_found(
    arguments: list[str], tmp_path: Path, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shrag.toml").write_text("")
    assert run(arguments) == 4
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == [f"configuration: {tmp_path}/shrag.toml", f"data folder: {own_home}"]
    assert len(lines) == 3


def test_quiet_prints_results_and_errors_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-q", "init"]) == 0
    assert capsys.readouterr().err == ""
    assert run(["init"]) == 0
    assert "next: shrag index demo" in capsys.readouterr().err  # one command line's option is not the next one's
    assert run(["-q", "index", "nothing"]) == 3
    assert "There is no corpus 'nothing'" in capsys.readouterr().err
    assert verbosity.get() is Verbosity.NORMAL


@pytest.mark.parametrize(("option", "has_traceback"), [([], False), (["-v"], True)])
def test_an_unexpected_error_has_its_traceback_if_asked_for(
    option: list[str], has_traceback: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise RuntimeError("odd")

    monkeypatch.setattr(doctor, "check_parts", fail)
    assert run([*option, "doctor"]) == 1
    err = capsys.readouterr().err
    assert ("Traceback (most recent call last)" in err) == has_traceback
    assert "shrag: unexpected RuntimeError: odd" in err
    assert ("run it again with `shrag -v`" in err) != has_traceback


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["serch", "demo", "x"], "There is no command 'serch'. Did you mean search?"),
        (["search", "demo", "x", "--stratgey", "bm25"], "No such option '--stratgey'. Did you mean '--strategy'?"),
        (["corpus", "lst"], "Did you mean 'list'?"),
        (["ask", "demo", "x", "--strategy", "bn25"], "Did you mean bm25?"),
        (["index", "demo", "--encoder", "lsaa"], "Did you mean lsa?"),
        (["experiment", "dem"], "Did you mean demo?"),
    ],
)
def test_a_wrong_name_suggests_the_most_similar_one(
    arguments: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) != 0
    assert hint in capsys.readouterr().err


def test_wrong_names_of_indexes_and_corpora_suggest_those_there_are(
    demo_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (["search", "dem", "x"], ["index", "dem"], ["serve", "dem"], ["corpus", "show", "dmo"]):
        assert run(["--home", str(demo_home), *arguments]) in {3, 4}
        assert "Did you mean demo?" in capsys.readouterr().err
    assert run(["--home", str(demo_home), "search", "demo", "x", "--set", "andz=1"]) == 2
    assert "There is no setting 'andz'" in (err := capsys.readouterr().err)
    assert "Did you mean ands?" in err


@pytest.mark.parametrize(
    ("text", "hint"),
    [("[serch]\n", "Did you mean search?"), ("[search]\nstratgy = 'bm25'\n", "Did you mean strategy?")],
)
def test_wrong_names_in_the_configuration_suggest_the_right_ones(
    text: str, hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shrag.toml").write_text(text)
    assert main.run(["search", "demo", "x"]) == 2
    assert hint in capsys.readouterr().err
