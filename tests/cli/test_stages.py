"""Every stage that is reported or measured, and every kind of repair, has its message."""

import ast
from pathlib import Path

from shrag.cli.stages import STAGES
from shrag.corpora.text.repairs import REPAIR_KINDS

ROOT = Path(__file__).resolve().parents[2]
REPORTING = {"report", "_report", "measure", "timed"}


def test_every_stage_of_the_source_and_every_kind_of_repair_has_a_message() -> None:
    stages = set(REPAIR_KINDS)
    for package in ("corpora", "indexing", "evaluation"):
        for file in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                    if name in REPORTING:
                        stages.add(str(node.args[0].value))
    assert {"lines read", "merging", "glossary"} < stages
    assert stages - set(STAGES) == set()
