from __future__ import annotations

from pathlib import Path

import pytest

import shrag
from shrag.indexing.errors import IndexMissing


def test_the_door_opens_an_index_under_a_home(demo_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = shrag.open("demo", home=demo_home)
    found = engine.search("salt marsh blue carbon", k=2).ranking.records
    assert {ranked.record.docid for ranked in found} == {"DEMO-OCE-005", "DEMO-ENV-004"}
    answer = engine.ask("재택근무를 많이 할수록 갈등이 커지는가?").answer
    assert answer.citations[0].docid == "DEMO-SOC-012"
    engine.close()
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    shrag.open("demo").close()


def test_a_missing_index_is_said_at_once() -> None:
    with pytest.raises(IndexMissing, match="`shrag index nothing`"):
        shrag.open("nothing")
