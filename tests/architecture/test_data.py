"""Tests on the development corpora beside the project; skipped with one line where they are absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shrag.cli.main import run

DATA = Path(os.environ.get("SHRAG_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"the development corpora are not at {DATA} (SHRAG_DATA)"),
]


def test_a_question_about_explainable_ai_in_education_cites_records_about_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    records = DATA / "scholarly-ko" / "records.jsonl.gz"
    assert run(["corpus", "add", "sci", "--format", "scienceon", str(records)]) == 0
    assert "4,219 records" in capsys.readouterr().out
    assert run(["index", "sci"]) == 0
    capsys.readouterr()
    assert run(["ask", "sci", "인공지능 교육에서 설명 가능한 인공지능은 어떤 의미가 있나요?"]) == 0
    out = capsys.readouterr().out
    cited = [line for line in out.splitlines() if line.startswith(("[1] ", "[2] ", "[3] ", "[4] ", "[5] "))]
    assert len(cited) >= 3
    assert all("설명" in line and "인공지능" in line for line in cited)
    assert "JAKO202132238500768" in cited[0]
