from __future__ import annotations

from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.manifest import MANIFEST_FILE, Account, CorpusManifest, read_manifest, write_manifest

MANIFEST = CorpusManifest(
    format_version=1,
    name="c",
    format="miracl",
    fingerprint="0" * 64,
    records=1,
    complete=1,
    languages={"ko": 1},
    records_file="records-0.parquet",
    rejects_file="rejects-0.jsonl",
    sources=(Account("docs-0.jsonl", "1" * 64, 10, 1, 1, 0, 0, 0),),
    shrag_version="0.1.0",
)


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_manifest(tmp_path, MANIFEST)
    assert read_manifest(tmp_path) == MANIFEST


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format_version": 1, "extra": 2}'])
def test_what_is_no_manifest_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST_FILE).write_text(text)
    with pytest.raises(CorpusError, match=r"is not a corpus manifest .*add the corpus again"):
        read_manifest(tmp_path)


def test_another_format_is_refused_by_number(tmp_path: Path) -> None:
    write_manifest(tmp_path, MANIFEST)
    path = tmp_path / MANIFEST_FILE
    path.write_text(path.read_text().replace('"format_version": 1', '"format_version": 9'))
    with pytest.raises(CorpusError, match="has format 9, this SHRAG reads 1"):
        read_manifest(tmp_path)
