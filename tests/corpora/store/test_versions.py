from __future__ import annotations

import json
from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.files import keep_files, lock_folder
from shrag.corpora.ingest.add import add_corpus
from shrag.corpora.records import RecordChanges
from shrag.corpora.store.manifest import MANIFEST_FILE, read_manifest, read_previous
from shrag.corpora.store.open_corpus import list_corpora, open_corpus
from shrag.corpora.store.versions import remove_corpus, stored_size, undo_change


def _add(home: Path, docids: str, text: str = "초록.", *, replace: bool = False) -> None:
    source = home / f"{docids}-{text}.jsonl"
    lines = [json.dumps({"CN": docid, "title": f"제목 {docid}", "abstract": text}) for docid in docids]
    source.write_text("\n".join(lines))
    add_corpus(home, "c", "scienceon", [source], replace=replace)


def _docids(home: Path) -> str:
    return "".join(record.docid for record in open_corpus(home, "c")[1])


def test_an_addition_is_undone_and_done_again(tmp_path: Path) -> None:
    _add(tmp_path, "ABC")
    before = read_manifest(tmp_path / "c")
    _add(tmp_path, "CD", "새 초록.")
    after = read_manifest(tmp_path / "c")
    assert undo_change(tmp_path, "c") == (before, RecordChanges(added=0, changed=1, deleted=1, unchanged=2))
    assert (_docids(tmp_path), read_previous(tmp_path / "c")) == ("ABC", after)
    assert undo_change(tmp_path, "c") == (after, RecordChanges(added=1, changed=1, deleted=0, unchanged=2))
    assert _docids(tmp_path) == "ABCD"


def test_a_replacement_is_undone_and_only_one_version_is_kept(tmp_path: Path) -> None:
    _add(tmp_path, "ABC")
    _add(tmp_path, "D", replace=True)
    _add(tmp_path, "E")
    undo_change(tmp_path, "c")
    assert _docids(tmp_path) == "D"
    assert len(list((tmp_path / "c").glob("records-*.parquet"))) == 2


def test_an_addition_after_an_undo_keeps_the_version_that_was_current(tmp_path: Path) -> None:
    _add(tmp_path, "A")
    _add(tmp_path, "B")
    undo_change(tmp_path, "c")
    _add(tmp_path, "C")
    assert _docids(tmp_path) == "AC"
    undo_change(tmp_path, "c")
    assert _docids(tmp_path) == "A"


@pytest.mark.parametrize("damage", [b"PAR1", None])
def test_a_damaged_version_is_undone_though_nothing_can_be_said_of_its_changes(
    tmp_path: Path, damage: bytes | None
) -> None:
    _add(tmp_path, "A")
    before = read_manifest(tmp_path / "c")
    _add(tmp_path, "B")
    records = tmp_path / "c" / read_manifest(tmp_path / "c").records_file
    records.unlink() if damage is None else records.write_bytes(damage)
    assert undo_change(tmp_path, "c") == (before, None)
    assert _docids(tmp_path) == "A"
    with pytest.raises(CorpusError, match=r"cannot be read|missing"):
        undo_change(tmp_path, "c")
    assert _docids(tmp_path) == "A"


def test_what_cannot_be_undone_says_so_and_changes_nothing(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="There is no corpus 'c'"):
        undo_change(tmp_path, "c")
    _add(tmp_path, "A")
    with pytest.raises(CorpusError, match=r"no earlier version.*`shrag corpus remove c`"):
        undo_change(tmp_path, "c")
    _add(tmp_path, "B")
    previous = read_previous(tmp_path / "c")
    assert previous is not None
    (tmp_path / "c" / previous.records_file).write_bytes(b"PAR1")
    with pytest.raises(CorpusError, match="cannot be read"):
        undo_change(tmp_path, "c")
    assert _docids(tmp_path) == "AB"


def test_a_build_reads_the_version_that_it_began_with(tmp_path: Path) -> None:
    _add(tmp_path, "A")
    records = open_corpus(tmp_path, "c")[1]
    with keep_files(tmp_path / "c"):
        for docids in ("B", "C", "D"):
            _add(tmp_path, docids, replace=True)
        assert [record.docid for record in records] == ["A"]
        with pytest.raises(CorpusError, match="is being read by a build of its index"):
            remove_corpus(tmp_path, "c")
    assert _docids(tmp_path) == "D"


def test_a_removed_corpus_leaves_nothing_and_can_be_added_again(tmp_path: Path) -> None:
    _add(tmp_path, "ABCD")
    assert stored_size(tmp_path, "c") == (4, ("제목 A", "제목 B", "제목 C"))
    (tmp_path / "c" / ".draft").mkdir()
    remove_corpus(tmp_path, "c")
    assert not (tmp_path / "c").exists()
    assert list_corpora(tmp_path) == []
    with pytest.raises(CorpusError, match="There is no corpus 'c'"):
        remove_corpus(tmp_path, "c")
    _add(tmp_path, "E")
    assert _docids(tmp_path) == "E"


def test_a_damaged_corpus_can_be_removed_and_one_that_is_being_written_not(tmp_path: Path) -> None:
    _add(tmp_path, "A")
    (tmp_path / "c" / MANIFEST_FILE).write_text("{}")
    assert stored_size(tmp_path, "c") == (None, ())
    with lock_folder(tmp_path / "c"), pytest.raises(CorpusError, match=r"being written by process \d+"):
        remove_corpus(tmp_path, "c")
    remove_corpus(tmp_path, "c")
    assert not (tmp_path / "c").exists()
