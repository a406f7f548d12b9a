"""Numbers in a range as values of options."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrag.cli.main import run


@pytest.mark.parametrize(
    "arguments",
    [
        ["ask", "demo", "What?", "--min-score", "nan"],
        ["ask", "demo", "What?", "--min-confidence", "nan"],
        ["ask", "demo", "What?", "--engine-timeout", "-NaN"],
        ["serve", "--deadline", "nan"],
        ["serve", "--start-seconds", "nan"],
        ["evaluate", "--qrels", "qrels", "--run", "a", "--level", "nan"],
    ],
)
def test_not_a_number_is_an_error_of_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    assert f"{arguments[-1]!r} is not a valid float range." in capsys.readouterr().err


def test_not_a_number_in_the_configuration_file_is_an_error_of_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shrag.toml").write_text("[serve]\ndeadline = nan\n")
    monkeypatch.chdir(tmp_path)
    assert run(["serve"]) == 2
    assert "nan is not a valid float range." in capsys.readouterr().err
