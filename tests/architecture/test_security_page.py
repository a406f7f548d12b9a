"""``docs/en/explanation/security.md`` names tests: each is there, under that name."""

from __future__ import annotations

import ast
import re

from tests.conftest import ROOT

PAGE = ROOT / "docs/en/explanation/security.md"


def test_every_test_that_the_page_names_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE.read_text(encoding="utf-8"))
    assert len(named) >= 30
    missing = []
    for file, test in named:
        path = ROOT / file
        if not path.is_file():
            missing.append(file)
        elif test:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            if test not in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}:
                missing.append(f"{file}::{test}")
    assert missing == []


def test_every_row_of_controls_names_a_test() -> None:
    text = PAGE.read_text(encoding="utf-8")
    tables = re.findall(r"\| test \|\n\| --- .*\n((?:\|.*\n)+)", text)
    rows = [row for table in tables for row in table.splitlines()]
    assert len(rows) >= 25
    assert [row for row in rows if "`tests/" not in row and "the same" not in row] == []
