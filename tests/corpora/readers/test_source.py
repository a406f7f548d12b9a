from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError, RejectedLine
from shrag.corpora.readers import source
from shrag.corpora.readers.source import SourceLine, open_source, read_bytes, read_head, read_lines, source_encoding


@pytest.mark.slow
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


def test_lines_are_numbered_and_placed_without_their_ends(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes("\ufeff가\r\n\nb\nlast".encode())
    assert list(read_lines(path)) == [
        SourceLine(1, 0, "가".encode()),
        SourceLine(2, 8, b""),
        SourceLine(3, 9, b"b"),
        SourceLine(4, 11, b"last"),
    ]


def test_gzip_is_known_by_its_content_and_members_are_joined(tmp_path: Path) -> None:
    path = tmp_path / "no-suffix"
    path.write_bytes(gzip.compress(b"a\n") + gzip.compress(b"b\n"))
    assert [line.data for line in read_lines(path)] == [b"a", b"b"]


def test_a_line_beyond_the_limit_is_skipped_and_the_next_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "LONGEST_LINE", 4)
    path = tmp_path / "a"
    path.write_bytes(b"1234567890\nab\n1234\n")
    assert list(read_lines(path)) == [SourceLine(1, 0, None), SourceLine(2, 11, b"ab"), SourceLine(3, 14, b"1234")]


def test_a_line_may_have_sixteen_mebibytes(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * (16 << 20) + b"\n" + b"x" * ((16 << 20) + 1) + b"\n")
    assert [line.data is None for line in read_lines(path)] == [False, True]


@pytest.mark.parametrize("damage", ["cut", "flipped", "trailing"])
def test_broken_gzip_is_an_error_that_says_where(tmp_path: Path, damage: str) -> None:
    whole = gzip.compress(b"".join(b'{"n": %d}\n' % n for n in range(5000)))
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0x10
    path = tmp_path / "a.gz"
    path.write_bytes({"cut": whole[: len(whole) // 2], "flipped": bytes(flipped), "trailing": whole + b"junk"}[damage])
    with pytest.raises(CorpusError, match="damaged gzip, it breaks off after line"):
        list(read_lines(path))


def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert list(read_lines(tmp_path / "a")) == []


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_utf_16_is_read_as_utf_8(tmp_path: Path, encoding: str, pack: Callable[[bytes], bytes]) -> None:
    text = "\ufeff" if encoding.endswith("be") else ""
    (tmp_path / "a").write_bytes(pack((text + "가나\r\n" * 50_000).encode(encoding)))
    lines = list(read_lines(tmp_path / "a"))
    assert {line.data for line in lines} == {"가나".encode()}
    assert (len(lines), lines[-1].offset) == (50_000, 49_999 * 8)
    assert source_encoding(tmp_path / "a") == "UTF-16"


def test_utf_16_that_breaks_off_in_a_character_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("가나".encode("utf-16")[:-1])
    with pytest.raises(CorpusError, match=r"is damaged UTF-16 \(truncated data\)"):
        list(read_lines(tmp_path / "a"))


@pytest.mark.parametrize("encoding", ["utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_utf_32_is_named_as_itself(tmp_path: Path, encoding: str, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / "a").write_bytes(pack('\ufeff{"a": 1}\n'.encode(encoding)))
    with pytest.raises(CorpusError, match=r"is UTF-32: .*iconv -f UTF-32 -t UTF-8"):
        list(read_lines(tmp_path / "a"))


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_file_may_be_as_large_as_the_limit(
    tmp_path: Path, pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "_PIECE", 4)
    (tmp_path / "a").write_bytes(pack(b"0123456789"))
    assert read_bytes(tmp_path / "a", 10) == b"0123456789"
    with pytest.raises(RejectedLine, match="longer than 9 bytes"):
        read_bytes(tmp_path / "a", 9)


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"", "UTF-8"),
        (b"ascii\n" * 9, "UTF-8"),
        ("ascii\n가나다\n".encode("cp949"), "CP949"),
        ("가\n".encode() + "가나다\n".encode("cp949"), "UTF-8"),
        ("가나다\n".encode("cp949") + "가\n".encode(), "CP949"),
        ("\ufeffascii\n가".encode(), "UTF-8"),
    ],
)
def test_the_encoding_is_that_of_the_first_line_that_is_not_ascii(tmp_path: Path, data: bytes, encoding: str) -> None:
    (tmp_path / "a").write_bytes(data)
    assert source_encoding(tmp_path / "a") == encoding


def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/null")):
        with pytest.raises(CorpusError, match="not a regular file"):
            list(read_lines(path))
    with pytest.raises(CorpusError, match="does not exist"):
        list(read_lines(tmp_path / "nothing"))
