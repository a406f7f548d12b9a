"""The README's Python runs and gives what it shows."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_ten_lines_of_the_readme_run_with_the_output_shown(
    demo_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    results = doctest.testfile(str(README), module_relative=False, encoding="utf-8")
    assert results.attempted == 8
    assert results.failed == 0
