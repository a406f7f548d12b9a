"""The commands in docs/en/how-to/evaluation.md print what the page shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from shrag.cli.main import run

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/en/how-to/evaluation.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```console\n(\$ shrag .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SHOWN = re.findall(r"^\$ shrag (.*?)\n(.*?)(?=^\$ |\Z)", "".join(BLOCKS), re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_every_command_on_the_page_prints_what_the_page_shows(
    demo_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    assert [shlex.split(command)[0] for command, _ in SHOWN] == ["run", "run", "evaluate", "compare", "evaluate"]
    for command, shown in SHOWN:
        arguments = [str(ROOT / each) if each.startswith("corpora/") else each for each in shlex.split(command)]
        assert run(arguments) == 0
        captured = capsys.readouterr()
        told = re.sub(r"^topics: .*\n", "", captured.err, flags=re.M) if arguments[0] == "run" else captured.out
        assert told == shown
