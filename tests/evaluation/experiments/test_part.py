"""The files and the journal of a part."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.experiments.part import (
    JOURNAL,
    RUN,
    ExperimentPart,
    QuestionTime,
    append_to_journal,
    is_done,
    part_path,
    read_journal,
    read_outcomes,
    read_times,
    write_part,
)
from shrag.evaluation.questions.outcome import QuestionOutcome, QuestionRecord, RelevantRecord

ASKED = [
    QuestionRecord(
        QuestionOutcome(
            qid,
            keywords=("차폐 → shielding",),
            queries=(("차폐", "두 줄\n"),),
            num_candidates=2,
            num_relevant_candidates=1,
            num_retrieved=1,
            relevant=(RelevantRecord("d\u2028", 2, 1), RelevantRecord("e", 1, None)),
        ),
        (("d\u2028", 0.1 + 0.2),),
        {"search": 0.25},
        7,
    )
    for qid in ("a", "b", "c")
]


def test_what_was_kept_is_read_again_value_by_value(tmp_path: Path) -> None:
    assert list(append_to_journal(tmp_path / "j", ASKED)) == ASKED
    assert read_journal(tmp_path / "j", ["a", "b", "c", "d"]) == ASKED


def test_each_outcome_is_in_the_file_before_the_next_is_asked(tmp_path: Path) -> None:
    coming = iter(append_to_journal(tmp_path / "j", ASKED))
    next(coming)
    assert (tmp_path / "j").read_bytes().count(b"\n") == 1


def test_nothing_was_kept_where_there_is_no_journal(tmp_path: Path) -> None:
    assert read_journal(tmp_path / "j", ["a"]) == []


@pytest.mark.parametrize("cut", [1, 5, 60])
def test_a_line_that_a_kill_left_half_written_is_cut_off(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "j"
    list(append_to_journal(path, ASKED))
    path.write_bytes(path.read_bytes()[:-cut])
    assert read_journal(path, ["a", "b", "c"]) == ASKED[:2]
    list(append_to_journal(path, ASKED[2:]))
    assert read_journal(path, ["a", "b", "c"]) == ASKED


def test_lines_of_other_questions_or_of_nothing_count_for_nothing_from_there_on(tmp_path: Path) -> None:
    path = tmp_path / "j"
    list(append_to_journal(path, ASKED))
    assert read_journal(path, ["a", "x", "c"]) == ASKED[:1]
    assert path.read_bytes().count(b"\n") == 1
    path.write_bytes(b"\0" * 40 + b"\n" + path.read_bytes())
    assert read_journal(path, ["a", "b", "c"]) == []
    assert path.read_bytes() == b""


RECORDS = [
    QuestionRecord(
        QuestionOutcome("a", num_retrieved=2, top_docids=("x", "y")), (("x", 2.5), ("y", 1.0)), {"search": 0.5}, 3
    ),
    QuestionRecord(QuestionOutcome("b", error="The question is empty: write one.")),
]


def test_the_files_of_a_part_are_a_run_the_outcomes_and_the_times(tmp_path: Path) -> None:
    part = ExperimentPart("s", "or", 2)
    (tmp_path / "s").mkdir()
    part_path(tmp_path, part, JOURNAL).write_bytes(b"kept")
    assert not is_done(tmp_path, part)
    write_part(tmp_path, part, RECORDS)
    assert is_done(tmp_path, part)
    assert part_path(tmp_path, part, RUN).read_text() == "a Q0 x 1 2.5 shrag-or.2\na Q0 y 2 1 shrag-or.2\n"
    assert read_outcomes(tmp_path, part) == [asked.outcome for asked in RECORDS]
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
