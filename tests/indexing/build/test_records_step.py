from __future__ import annotations

import gc
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shrag.indexing.build import records_step
from shrag.indexing.build.records_step import BuildNotes, _rewind, shard_size
from shrag.indexing.build.worker import RejectedRecord
from shrag.indexing.errors import IndexDamaged


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


def _interrupted(path: Path) -> str:
    """Write the notes of five records, whose state is returned, and of later ones that Lucene does not have."""
    with BuildNotes(path) as notes:
        notes.add_words([("b", b"2"), ("a", b"1")])
        notes.reject(4, "e", "it crashed")
        notes.commit()
        state = notes.state()
        notes.add_words([("c", b"3")])
        notes.reject(5, "f", "it crashed")
        notes.commit()
        assert notes.state() != state
    return state


@pytest.mark.parametrize(("written", "whole"), [(3, False), (4, True), (5, False)])
def test_lucene_must_have_every_record_that_was_not_rejected_where_a_build_is_resumed(
    tmp_path: Path, written: int, whole: bool
) -> None:
    committed = {"processed": "5", "notes": _interrupted(tmp_path / "notes.sqlite")}
    writer: Any = SimpleNamespace(commit_data=lambda: committed, count=lambda: written)
    build: Any = SimpleNamespace(folder=tmp_path)
    with BuildNotes(tmp_path / "notes.sqlite") as notes:
        if whole:
            assert _rewind(build, writer, notes) == 5
        else:
            with pytest.raises(IndexDamaged, match=rf"has {written} of 5 records"):
                _rewind(build, writer, notes)


def test_a_resumed_build_has_the_notes_of_the_records_that_lucene_has_and_goes_on(tmp_path: Path) -> None:
    state = _interrupted(tmp_path / "notes.sqlite")
    with BuildNotes(tmp_path / "notes.sqlite") as notes:
        notes.rewind(state, 5)
        assert notes.state() == state
        assert list(notes.words()) == [("a", b"1"), ("b", b"2")]
        assert notes.rejected_numbers() == [4]
        notes.add_words([("c", b"3")])
        notes.reject(5, "f", "it crashed")
        notes.commit()
        after = notes.state()
    assert after.startswith("3 ")
    with BuildNotes(tmp_path / "notes.sqlite") as notes:
        notes.rewind(after, 6)
        assert (list(notes.words()), notes.rejected_numbers()) == ([("a", b"1"), ("b", b"2"), ("c", b"3")], [4, 5])


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE words SET tokens = x'39' WHERE word = 'a'",
        "DELETE FROM words WHERE word = 'a'",
        "DELETE FROM rejects WHERE number = 4",
        "UPDATE rejects SET reason = 'x' WHERE number = 4",
        "UPDATE rejects SET number = 3 WHERE number = 4",
    ],
)
def test_notes_that_have_changed_since_are_not_gone_on_with(change: str, tmp_path: Path) -> None:
    state = _interrupted(tmp_path / "notes.sqlite")
    with closing(sqlite3.connect(tmp_path / "notes.sqlite", isolation_level=None)) as database:
        assert database.execute(change).rowcount == 1
    with (
        BuildNotes(tmp_path / "notes.sqlite") as notes,
        pytest.raises(IndexDamaged, match="words that the interrupted build noted have changed since"),
    ):
        notes.rewind(state, 5)


def test_no_more_words_are_noted_than_the_token_store_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records_step, "_MOST_WORDS", 2)
    with BuildNotes(tmp_path / "notes.sqlite") as notes:
        for word in "abcd":
            notes.add_words([(word, b"1")])
        assert [word for word, _ in notes.words()] == ["a", "b"]


def test_a_corpus_is_committed_in_sixteen_shards_of_two_to_sixty_five_thousand_records() -> None:
    assert [shard_size(records) for records in (0, 32_784, 65_536, 10**6, 1_048_592, 10**9)] == [
        2_048, 2_049, 4_096, 62_500, 65_536, 65_536,
    ]  # fmt: skip
