"""The manifest: written and read back the same; damaged in any way, it is refused by one of two errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shrag.corpora.store.file_checksum import FileChecksum
from shrag.corpora.store.manifest import CorpusManifest, SourceAccount
from shrag.indexing.bm25 import Bm25
from shrag.indexing.errors import IndexDamaged, IndexMismatch
from shrag.indexing.storage.checksums import compute_checksums, find_damage
from shrag.indexing.storage.manifest import FORMAT_VERSION, IndexManifest, decode_manifest, encode_manifest

PATH = Path("indexes/demo/gen-000001/MANIFEST.json")

_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
_COUNT = st.integers(0, 2**53)
_SAFE_NAME = st.from_regex(r"[a-z_0-9]{1,12}(/[a-z_0-9.]{1,12}[a-z])?", fullmatch=True)
_MANIFESTS = st.builds(
    IndexManifest,
    format_version=st.just(FORMAT_VERSION),
    source=st.builds(
        CorpusManifest,
        sources=st.lists(st.builds(SourceAccount), max_size=3).map(tuple),
        languages=st.dictionaries(_TEXT, _COUNT, max_size=3),
    ),
    bm25=st.builds(Bm25, st.floats(0, 9), st.floats(0, 1), st.floats(0, 9)),
    utilization=st.dictionaries(_TEXT, st.floats(0, 1), max_size=3),
    files=st.dictionaries(_SAFE_NAME, st.builds(FileChecksum), max_size=4),
    versions=st.dictionaries(_TEXT, _TEXT, max_size=3),
)

SMALL = IndexManifest(
    format_version=FORMAT_VERSION,
    generation=1,
    created="2026-11-21T09:00:00+00:00",
    source=CorpusManifest(
        2, "demo", "scienceon", "f" * 64, 1, 1, 0, {"ko": 1}, "r.parquet", "r.jsonl", (), "2026-11-21", "0.1.0"
    ),
    analyzer="rules 1",
    bm25=Bm25(),
    records=1,
    rejected=0,
    utilization={"Lucene": 0.5},
    files={"lucene/_0.cfs": FileChecksum(10, "a" * 64)},
    versions={"shrag": "0.1.0"},
)


@given(_MANIFESTS)
def test_what_is_written_is_read_back(manifest: IndexManifest) -> None:
    data = encode_manifest(manifest)
    assert decode_manifest(data, PATH) == manifest
    assert encode_manifest(decode_manifest(data, PATH)) == data
    assert data.isascii() or json.loads(data.decode("utf-8"))


def _decoded(data: bytes) -> IndexManifest | None:
    try:
        return decode_manifest(data, PATH)
    except (IndexDamaged, IndexMismatch):
        return None


def test_no_part_of_a_manifest_is_one() -> None:
    data = encode_manifest(SMALL).rstrip()
    assert [length for length in range(len(data)) if _decoded(data[:length]) is not None] == []


def test_any_bit_flipped_is_refused_or_reads_as_another_manifest() -> None:
    """A flip within a value can give another valid manifest: that one is caught by its digest in ``CURRENT``."""
    data = bytearray(encode_manifest(SMALL))
    refused = 0
    for bit in range(len(data) * 8):
        data[bit // 8] ^= 1 << bit % 8
        refused += _decoded(bytes(data)) is None
        data[bit // 8] ^= 1 << bit % 8
    assert refused > len(data) * 2


@given(st.binary())
@example(b"\xff\xfe{")
@example(b"[" * 100_000)
@example(b'{"format_version": 4, "x": ' + b"[" * 100_000)
@example(b'{"format_version": 3e400}')
@example(b'{"format_version": 4, "versions": {"shrag": "\xed\xa0\x80"}}')
def test_no_bytes_give_another_error(data: bytes) -> None:
    assert _decoded(data) is None


@pytest.mark.parametrize("name", ["../tokens.sqlite", "/etc/passwd", "lucene/../../x", "a\0b"])
def test_a_manifest_that_names_files_outside_the_index_is_refused(name: str) -> None:
    data = json.loads(encode_manifest(SMALL)) | {"files": {name: {"bytes": 1, "sha256": "a" * 64}}}
    with pytest.raises(IndexDamaged, match="is outside the index"):
        decode_manifest(json.dumps(data).encode(), PATH)


def test_seals_tell_each_difference_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "lucene").mkdir()
    for name in ("a", "b", "lucene/c", "lucene/d", "MANIFEST.json"):
        (tmp_path / name).write_bytes(name.encode() * 3)
    checksums = compute_checksums(tmp_path)
    assert list(checksums) == ["a", "b", "lucene/c", "lucene/d"]
    assert list(find_damage(tmp_path, checksums)) == []
    (tmp_path / "a").write_bytes(b"b" * 3)
    (tmp_path / "b").unlink()
    (tmp_path / "lucene/d").write_bytes(b"")
    (tmp_path / "lucene/e").write_bytes(b"")
    found = {damage.file: damage.message.removeprefix(str(tmp_path)) for damage in find_damage(tmp_path, checksums)}
    assert found == {
        "a": "/a has changed since it was published",
        "b": "/b is missing",
        "lucene/d": "/lucene/d has 0 bytes instead of 24",
        "lucene/e": "/lucene/e is not part of the index",
    }
    assert [damage.file for damage in find_damage(tmp_path, checksums, contents=False)] == ["b", "lucene/d", "lucene/e"]
