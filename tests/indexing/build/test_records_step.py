from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest

from shrag.indexing.build.records_step import BuildNotes
from shrag.indexing.build.worker import RejectedRecord


def test_words_that_were_not_read_to_the_end_leave_nothing_behind_when_the_notes_are_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ignored: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    with BuildNotes(tmp_path / "notes.sqlite") as notes:
        notes.add_words([("b", b"2"), ("a", b"1"), ("a", b"1")])
        words = notes.words()
        assert next(words) == ("a", b"1")
    del words
    gc.collect()
    assert ignored == []


def test_rejected_records_are_told_in_the_corpus_order(tmp_path: Path) -> None:
    with BuildNotes(tmp_path / "notes.sqlite") as notes:
        notes.reject(12, "c", "it crashed")
        notes.reject(3, "a", "it crashed")
        notes.reject(12, "c", "it hung")
        assert notes.rejected_numbers() == [3, 12]
        assert notes.rejects() == [RejectedRecord("a", "it crashed"), RejectedRecord("c", "it hung")]
