from __future__ import annotations

from pathlib import Path

import click
import pytest

from shrag.cli.main import run
from shrag.cli.options.search import read_settings
from shrag.serving.search_settings import SearchSettings


@pytest.mark.parametrize("option", ["--min-score", "--min-confidence"])
@pytest.mark.parametrize("value", ["-0.1", "1.1"])
def test_scores_and_confidences_are_from_0_to_1(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ask", "demo", "What?", option, value]) == 2
    assert f"{value} is not in the range 0<=x<=1" in capsys.readouterr().err


def test_a_number_in_the_configuration_file_is_no_strategy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shrag.toml").write_text("[search]\nstrategy = 3\n")
    monkeypatch.chdir(tmp_path)
    assert run(["search", "demo", "What?"]) == 2
    assert "There is no strategy '3'" in capsys.readouterr().err


def test_a_setting_has_a_value_and_the_last_one_counts() -> None:
    assert read_settings([]) == SearchSettings()
    assert read_settings(["ands=1", " depth = 20 ", "ands=2"]) == SearchSettings(ands=2, depth=20)
    assert read_settings(["paper=a=b"]).paper == "a=b"
    with pytest.raises(click.UsageError, match="--set ands has no value: write KEY=VALUE, such as ands=1"):
        read_settings(["depth=20", "ands"])
