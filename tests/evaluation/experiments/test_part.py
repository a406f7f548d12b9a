""""""

from __future__ import annotations

from pathlib import Path

import pytest

from shrag.evaluation.experiments.part import append_to_journal, read_journal
from shrag.evaluation.questions.outcome import QuestionOutcome, QuestionRecord, RelevantRecord

ASKED = [
    QuestionRecord(
        QuestionOutcome(
            qid,
            keywords=("차폐 → shielding",),
            queries=(("차폐", "두 줄\n"),),
            collected=2,
            relevant_collected=1,
            found=1,
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
