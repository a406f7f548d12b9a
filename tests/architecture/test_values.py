"""Dataclasses and structs are values: they are frozen, and dataclasses have slots."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.test_imports import MAY_IMPORT
from tests.conftest import ROOT

COLLECTORS = {
    "models/encoders/network.py": {"TokenBudget"},
    "serving/page/state.py": {"PageState"},
    "serving/http/workers.py": {"_Worker"},
    "serving/http/logging.py": {"RequestContext"},
    "serving/strategies/planning/plan.py": {"Plan"},
    "serving/strategies/tree/search.py": {"TreeNode"},
    "serving/strategies/stepwise/strategies.py": {"_Step"},
    "serving/results.py": {"EventState"},
    "serving/answering/answer.py": {"StageTimer"},
    "serving/answer_cache.py": {"_Entry"},
    "evaluation/experiments/engines.py": {"OpenIndexes"},
}
"""Dataclasses whose fields change, because they collect what a request or a run has come to."""

WITHOUT_SLOTS = {
    "serving/answering/citations.py": {"_Cited"},
    "evaluation/experiments/engines.py": {"OpenIndexes"},
    "evaluation/experiments/judged_topics.py": {"JudgedQuestions"},
    "evaluation/reports/result_folder.py": {"ResultFolder"},
}
"""Dataclasses with a cached property or an attribute that is no field."""


def _values() -> Iterator[tuple[str, str, bool, dict[str, object]]]:
    """Yield each dataclass and struct: its file, its name, whether it is a dataclass, and how it is declared."""
    for package in MAY_IMPORT:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.ClassDef):
                    continue
                name = str(path.relative_to(ROOT))
                for decorator in node.decorator_list:
                    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
                    function = decorator.func if isinstance(decorator, ast.Call) else decorator
                    if ast.unparse(function) in {"dataclass", "dataclasses.dataclass"}:
                        yield name, node.name, True, _constants(keywords)
                if any(ast.unparse(base) in {"Struct", "msgspec.Struct"} for base in node.bases):
                    yield name, node.name, False, _constants(node.keywords)


def _constants(keywords: list[ast.keyword]) -> dict[str, object]:
    return {each.arg: each.value.value for each in keywords if each.arg and isinstance(each.value, ast.Constant)}


def _named(found: Iterator[tuple[str, str]]) -> dict[str, set[str]]:
    classes: dict[str, set[str]] = {}
    for path, name in found:
        classes.setdefault(path, set()).add(name)
    return classes


def test_values_are_frozen_and_only_collectors_are_not() -> None:
    assert len(list(_values())) > 200
    assert _named((path, name) for path, name, _, how in _values() if how.get("frozen") is not True) == COLLECTORS


def test_dataclasses_have_slots_unless_they_cache_a_property() -> None:
    found = (
        (path, name) for path, name, is_dataclass, how in _values() if is_dataclass and how.get("slots") is not True
    )
    assert _named(found) == WITHOUT_SLOTS
