from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from shrag.corpora import lines
from shrag.corpora.errors import CorpusError
from shrag.corpora.lines import Line, read_lines


def test_lines_are_numbered_and_placed_without_their_ends(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes("\ufeff가\r\n\nb\nlast".encode())
    assert list(read_lines(path)) == [
        Line(1, 0, "가".encode()),
        Line(2, 8, b""),
        Line(3, 9, b"b"),
        Line(4, 11, b"last"),
    ]


def test_gzip_is_known_by_its_content_and_members_are_joined(tmp_path: Path) -> None:
    path = tmp_path / "no-suffix"
    path.write_bytes(gzip.compress(b"a\n") + gzip.compress(b"b\n"))
    assert [line.data for line in read_lines(path)] == [b"a", b"b"]


def test_a_line_beyond_the_limit_is_skipped_and_the_next_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 4)
    path = tmp_path / "a"
    path.write_bytes(b"1234567890\nab\n1234\n")
    assert list(read_lines(path)) == [Line(1, 0, None), Line(2, 11, b"ab"), Line(3, 14, b"1234")]


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


def test_utf_16_is_named_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes('{"a": 1}\n'.encode("utf-16"))
    with pytest.raises(CorpusError, match=r"UTF-16.*iconv"):
        list(read_lines(tmp_path / "a"))


def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/null")):
        with pytest.raises(CorpusError, match="not a regular file"):
            list(read_lines(path))
    with pytest.raises(CorpusError, match="does not exist"):
        list(read_lines(tmp_path / "nothing"))
