from __future__ import annotations

from pathlib import Path

import pytest

from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.experiments.part import (
    ExperimentPart,
    QuestionTime,
    is_done,
    journal_path,
    read_outcomes,
    read_times,
    run_path,
    write_part,
)
from shrag.evaluation.questions.outcome import QuestionOutcome, QuestionRecord

ASKED = [
    QuestionRecord(QuestionOutcome("a", found=2, top=("x", "y")), (("x", 2.5), ("y", 1.0)), {"search": 0.5}, 3),
    QuestionRecord(QuestionOutcome("b", error="The question is empty: write one.")),
]


def test_the_files_of_a_part_are_a_run_the_outcomes_and_the_times(tmp_path: Path) -> None:
    part = ExperimentPart("s", "or", 2)
    (tmp_path / "s").mkdir()
    journal_path(tmp_path, part).write_bytes(b"kept")
    assert not is_done(tmp_path, part)
    write_part(tmp_path, part, ASKED)
    assert is_done(tmp_path, part)
    assert run_path(tmp_path, part).read_text() == "a Q0 x 1 2.5 shrag-or.2\na Q0 y 2 1 shrag-or.2\n"
    assert read_outcomes(tmp_path, part) == [asked.outcome for asked in ASKED]
    assert read_times(tmp_path, part) == [QuestionTime("a", {"search": 0.5}, 3), QuestionTime("b", {}, 0)]
    assert sorted(path.name for path in (tmp_path / "s").iterdir()) == [
        "or.2.questions.jsonl",
        "or.2.run",
        "or.2.times.jsonl",
    ]


def test_a_part_that_is_missing_or_damaged_is_named_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(ResultsMismatch, match=r"or.questions.jsonl cannot be read .* --resume"):
        read_outcomes(tmp_path, ExperimentPart("s", "or"))
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "or.questions.jsonl").write_text('{"qid": 5}\n')
    with pytest.raises(ResultsMismatch, match=r"or.questions.jsonl is damaged .* delete it and continue with --resume"):
        read_outcomes(tmp_path, ExperimentPart("s", "or"))
