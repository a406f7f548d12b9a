from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shrag.corpora.errors import CorpusError, UnaccountedLines
from shrag.corpora.store.manifest import (
    FORMAT_VERSION,
    MANIFEST_FILE,
    CorpusManifest,
    SourceAccount,
    read_manifest,
    read_previous,
    write_manifest,
)

MANIFEST = CorpusManifest(
    format_version=FORMAT_VERSION,
    name="c",
    format="miracl",
    fingerprint="0" * 64,
    records=1,
    complete=1,
    linked=0,
    languages={"ko": 1},
    records_file="records-0.parquet",
    rejects_file="rejects-0.jsonl",
    sources=(
        SourceAccount(
            path="docs-0.jsonl",
            format="miracl",
            sha256="1" * 64,
            bytes=10,
            lines=5,
            records=1,
            rejected=1,
            duplicates=1,
            superseded=1,
            blank=1,
        ),
    ),
    created="2026-01-02T03:04:05+00:00",
    shrag_version="0.1.0",
)


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_manifest(tmp_path, MANIFEST)
    assert read_manifest(tmp_path) == MANIFEST


def test_the_previous_version_stands_beside_the_current_one(tmp_path: Path) -> None:
    previous = msgspec.structs.replace(MANIFEST, name="before")
    write_manifest(tmp_path, MANIFEST, previous)
    assert (read_manifest(tmp_path), read_previous(tmp_path)) == (MANIFEST, previous)
    write_manifest(tmp_path, previous)
    assert (read_manifest(tmp_path), read_previous(tmp_path)) == (previous, None)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format_version": 3, "extra": 2}'])
def test_what_is_no_manifest_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST_FILE).write_text(text)
    with pytest.raises(
        CorpusError, match=r"is not a corpus manifest .*read its sources again with `shrag corpus replace`"
    ):
        read_manifest(tmp_path)


@pytest.mark.parametrize("version", [1, 9])
def test_another_format_is_refused_by_number(tmp_path: Path, version: int) -> None:
    (tmp_path / MANIFEST_FILE).write_text(f'{{"format_version": {version}, "name": "c", "of another shape": true}}')
    with pytest.raises(
        CorpusError,
        match=f"has corpus format {version}, this SHRAG reads 3: read its sources again with `shrag corpus replace`",
    ):
        read_manifest(tmp_path)


@pytest.mark.parametrize("account", [{"lines": 6}, {"blank": 0}, {"records": 2, "blank": 0}, {"blank": -1, "lines": 3}])
def test_a_manifest_that_loses_a_line_is_not_written(tmp_path: Path, account: dict[str, int]) -> None:
    (whole,) = MANIFEST.sources
    manifest = msgspec.structs.replace(MANIFEST, sources=(msgspec.structs.replace(whole, **account),))
    with pytest.raises(UnaccountedLines, match="nothing was stored"):
        write_manifest(tmp_path, manifest)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change", [{"records": 2}, {"languages": {"ko": 2}}, {"sources": ()}])
def test_a_manifest_that_loses_a_record_is_not_written(tmp_path: Path, change: dict[str, object]) -> None:
    with pytest.raises(UnaccountedLines, match="nothing was stored"):
        write_manifest(tmp_path, msgspec.structs.replace(MANIFEST, **change))


def test_a_manifest_that_is_no_text_is_refused(tmp_path: Path) -> None:
    write_manifest(tmp_path, MANIFEST)
    path = tmp_path / MANIFEST_FILE
    path.write_bytes(path.read_bytes().replace(b'"miracl"', b'"mir\xe6cl"'))
    with pytest.raises(CorpusError, match="is not a corpus manifest"):
        read_manifest(tmp_path)
