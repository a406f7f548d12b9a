"""A stored corpus whose files are checked: what the check finds, and what it says."""

from __future__ import annotations

import errno
import hashlib
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.files import keep_files
from shrag.corpora.records import Origin, Record, Reject
from shrag.corpora.store.manifest import (
    FORMAT_VERSION,
    MANIFEST_FILE,
    CorpusManifest,
    SourceAccount,
    read_manifest,
    write_manifest,
)
from shrag.corpora.store.open_corpus import (
    FAILED_REJECTS,
    check_corpus,
    failed_rejects,
    hold_corpus,
    list_corpora,
    open_corpus,
    remove_old_files,
    stored_rejects,
)
from shrag.corpora.store.parquet import RecordWriter, StoredRow, record_digest

RECORDS = [Record(f"D{number}", f"제목 {number}", "초록.", "ko", complete=True) for number in range(3)]
REJECT = Reject("a.jsonl", 4, 99, "not a JSON object")


def _write(corpora: Path, records: list[Record], digests: list[bytes] | None = None, name: str = "c") -> CorpusManifest:
    """Store a corpus whose manifest is that of ``RECORDS``."""
    folder = corpora / name
    folder.mkdir(parents=True)
    digests = digests or [record_digest(record) for record in records]
    with RecordWriter(folder / "records-0.parquet") as writer:
        for line, (record, digest) in enumerate(zip(records, digests, strict=True), 1):
            writer.write(StoredRow(record, digest, Origin(0, line, 0)))
    (folder / "rejects-0.jsonl").write_bytes(msgspec.json.encode(REJECT._asdict()) + b"\n")
    counts = {"lines": 4, "records": 3, "rejected": 1, "duplicates": 0, "superseded": 0, "blank": 0}
    manifest = CorpusManifest(
        format_version=FORMAT_VERSION,
        name=name,
        format="miracl",
        fingerprint=hashlib.sha256(b"".join(map(record_digest, RECORDS))).hexdigest(),
        records=3,
        complete=3,
        linked=0,
        languages={"ko": 3},
        records_file="records-0.parquet",
        rejects_file="rejects-0.jsonl",
        sources=(SourceAccount("a.jsonl", "miracl", "0" * 64, 9, **counts, repairs={}),),
        created="2026-01-02T03:04:05+00:00",
        shrag_version="0.1.0",
    )
    write_manifest(folder, manifest)
    return manifest


def test_a_whole_corpus_is_read_and_checked(tmp_path: Path) -> None:
    manifest = _write(tmp_path, RECORDS)
    assert check_corpus(tmp_path, "c") == 3
    assert list(stored_rejects(tmp_path, "c")) == [REJECT]
    assert failed_rejects(tmp_path, "c") is None
    assert failed_rejects(tmp_path, "none") is None
    stored, records = open_corpus(tmp_path, "c")
    assert (stored, list(records)) == (manifest, RECORDS)
    with hold_corpus(tmp_path, "c") as held:
        assert held == manifest


@pytest.mark.parametrize(
    ("records", "digests", "says"),
    [
        (RECORDS[:2], None, "differ from its manifest"),
        (RECORDS[::-1], None, "differ from its manifest"),
        ([*RECORDS[:2], replace(RECORDS[2], text="다른 초록.")], None, "differ from its manifest"),
        (
            [*RECORDS[:1], replace(RECORDS[1], text="다른 초록."), *RECORDS[2:]],
            [record_digest(record) for record in RECORDS],
            "has another record D1 than was stored",
        ),
    ],
    ids=["fewer", "another order", "another record", "a damaged record"],
)
def test_records_that_are_not_those_of_the_manifest_are_found(
    tmp_path: Path, records: list[Record], digests: list[bytes] | None, says: str
) -> None:
    _write(tmp_path, records, digests)
    with pytest.raises(CorpusError, match=rf"records-0\.parquet {says}: read its sources again"):
        check_corpus(tmp_path, "c")


@pytest.mark.parametrize("damage", [b"{", b"[]\n", b'{"file": "a"}\n', b'{"x": 1}\n', b'"\xff"\n', None])
def test_rejects_that_cannot_be_read_are_found_by_their_file(tmp_path: Path, damage: bytes | None) -> None:
    _write(tmp_path, RECORDS)
    path = tmp_path / "c" / "rejects-0.jsonl"
    path.unlink() if damage is None else path.write_bytes(damage)
    with pytest.raises(CorpusError, match=r"rejects-0\.jsonl cannot be read .*: read its sources again"):
        check_corpus(tmp_path, "c")
    (tmp_path / "c" / FAILED_REJECTS).write_bytes(damage or b"x")
    rejects = failed_rejects(tmp_path, "c")
    assert rejects is not None
    with pytest.raises(CorpusError, match=r"failed-rejects\.jsonl cannot be read"):
        list(rejects)


def test_rejects_that_this_process_may_not_read_are_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path, RECORDS)
    rejects = stored_rejects(tmp_path, "c")

    def refuse(path: Path, _: str) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(OSError, match=r"Too many open files: '.*rejects-0\.jsonl'"):
        list(rejects)


def test_corpora_are_the_folders_with_a_manifest_and_a_valid_name(tmp_path: Path) -> None:
    for name in ("b", "a", "a-2"):
        _write(tmp_path, RECORDS, name=name)
    for name in ("empty", "Capital", ".hidden"):
        (tmp_path / name).mkdir()
    for name in ("Capital", ".hidden"):
        (tmp_path / name / MANIFEST_FILE).write_text("{}")
    assert list_corpora(tmp_path) == ["a", "a-2", "b"]
    assert list_corpora(tmp_path / "none") == []


@pytest.mark.parametrize("name", ["d", "../c", ""])
def test_a_corpus_that_does_not_exist_is_named(tmp_path: Path, name: str) -> None:
    _write(tmp_path, RECORDS)
    _write(tmp_path, RECORDS, name="dd")
    says = r"There is no corpus 'd' .* Did you mean dd\?" if name == "d" else "cannot be a name"
    with pytest.raises(CorpusError, match=says):
        open_corpus(tmp_path, name)
    with pytest.raises(CorpusError, match=says):
        stored_rejects(tmp_path, name)
    with pytest.raises(CorpusError, match=says), hold_corpus(tmp_path, name):
        pass


def test_old_files_go_when_nobody_reads_them_and_no_others(tmp_path: Path) -> None:
    manifest = _write(tmp_path, RECORDS)
    previous = msgspec.structs.replace(manifest, records_file="records-1.parquet", rejects_file="rejects-1.jsonl")
    old = ["records-2.parquet", "rejects-2.jsonl", ".manifest.json.new"]
    other = ["records-1.parquet", "rejects-1.jsonl", "notes.txt", ".lock"]
    for name in (*old, *other, FAILED_REJECTS):
        (tmp_path / "c" / name).touch()
    kept = {"records-0.parquet", "rejects-0.jsonl", MANIFEST_FILE, *other}
    with keep_files(tmp_path / "c"):
        remove_old_files(tmp_path / "c", manifest, previous)
        assert {path.name for path in (tmp_path / "c").iterdir()} == kept | set(old)
    remove_old_files(tmp_path / "c", manifest, previous)
    assert {path.name for path in (tmp_path / "c").iterdir()} == kept
    remove_old_files(tmp_path / "c", manifest, None)
    assert {path.name for path in (tmp_path / "c").iterdir()} == kept - {"records-1.parquet", "rejects-1.jsonl"}
    assert read_manifest(tmp_path / "c") == manifest
