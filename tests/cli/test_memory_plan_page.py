"""The plans of a GPU in docs/en/reference/memory-plan.md are what the commands print; of an index: test_plan.py."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from shrag.cli.main import run

PAGE = (Path(__file__).resolve().parents[2] / "docs/en/reference/memory-plan.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^```console\n\$ shrag (plan (?!--records).*?)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("command", "shown"), SHOWN)
def test_every_plan_on_the_page_is_what_its_command_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, shown: str
) -> None:
    monkeypatch.delenv("SHRAG_HOME")
    status = run(shlex.split(command))
    captured = capsys.readouterr()
    assert captured.out + captured.err == shown
    assert status == (5 if "does not fit" in shown else 0)


def test_the_page_has_a_plan_that_fits_for_each_size_of_card() -> None:
    fitting = {
        shlex.split(command)[shlex.split(command).index("--card") + 1] for command, shown in SHOWN if "At once" in shown
    }
    assert fitting == {"24GB", "L40S", "A100-80", "H200"}
    assert len(SHOWN) == 7
