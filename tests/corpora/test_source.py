from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from shrag.corpora import source
from shrag.corpora.errors import CorpusError
from shrag.corpora.source import open_source, read_head


def test_a_gzip_bomb_is_refused_before_it_has_come_out(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"0" * (100 * 2**20), compresslevel=9))
    lengths: list[int] = []
    with pytest.raises(CorpusError, match="more than 200 bytes in each byte of gzip"):
        _read_into(lengths, path)
    assert 60 * 2**20 < sum(lengths) <= source.RATIO_FROM


def test_small_files_may_be_as_repetitive_as_they_like(tmp_path: Path) -> None:
    path = tmp_path / "zeros.gz"
    path.write_bytes(gzip.compress(b"0" * 2**20))
    with open_source(path) as stream:
        assert len(stream.read()) == 2**20


def test_gzip_inside_gzip_is_named_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "twice.gz"
    path.write_bytes(gzip.compress(gzip.compress(b"a")))
    with pytest.raises(CorpusError, match=r"gzip inside gzip.*gunzip"):
        read_head(path, 10)


@pytest.mark.parametrize("change", ["longer", "shorter", "rewritten"])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, change: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"0" * 2**20)
    changed = b"1" * {"longer": 2**21, "shorter": 2**10, "rewritten": 2**20}[change]
    with pytest.raises(CorpusError, match="changed while it was read"):
        _read_changing(path, changed)


def test_the_head_comes_without_a_byte_order_mark_and_decompressed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(gzip.compress("\ufeff가나다".encode()))
    assert read_head(path, 9) == "가나".encode()


def _read_into(lengths: list[int], path: Path) -> None:
    with open_source(path) as stream:
        while chunk := stream.read(2**20):
            lengths.append(len(chunk))


def _read_changing(path: Path, changed: bytes) -> None:
    with open_source(path) as stream:
        stream.read(10)
        path.write_bytes(changed)
        stream.read()
