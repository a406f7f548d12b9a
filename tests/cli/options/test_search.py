from __future__ import annotations

import pytest

from shrag.cli.main import run


@pytest.mark.parametrize("option", ["--min-score", "--min-confidence"])
@pytest.mark.parametrize("value", ["-0.1", "1.1"])
def test_scores_and_confidences_are_from_0_to_1(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ask", "demo", "What?", option, value]) == 2
    assert f"{value} is not in the range 0<=x<=1" in capsys.readouterr().err
