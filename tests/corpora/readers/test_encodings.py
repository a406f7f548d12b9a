from __future__ import annotations

import io
from pathlib import Path

import pytest

from shrag.corpora.errors import CorpusError
from shrag.corpora.readers.encodings import LineDecoder, Utf8Reader, convert_lines

KOREAN = "관리번호,논문 제목"


def test_korean_in_cp949_is_converted_line_by_line() -> None:
    decoder = LineDecoder()
    lines = [b"ascii", KOREAN.encode("cp949"), "utf-8 뒤에".encode(), b"\xb0\xff broken", "똠방각하".encode("cp949")]
    assert [decoder.convert(line) for line in lines] == [
        b"ascii", KOREAN.encode(), "utf-8 뒤에".encode(), b"\xb0\xff broken", "똠방각하".encode(),
    ]  # fmt: skip
    assert decoder.encoding == "CP949"


def test_in_a_file_of_utf_8_no_other_line_is_converted() -> None:
    decoder = LineDecoder()
    other = KOREAN.encode("cp949")
    assert [decoder.convert(line) for line in (KOREAN.encode(), other)] == [KOREAN.encode(), other]
    assert decoder.encoding == "UTF-8"


def test_a_line_in_no_encoding_decides_that_the_file_is_not_converted() -> None:
    decoder = LineDecoder()
    lines = [b"\xb0\xff broken", KOREAN.encode("cp949")]
    assert [decoder.convert(line) for line in lines] == lines
    assert decoder.encoding == "UTF-8"


@pytest.mark.parametrize(("line", "korean"), [("가나다漢字", True), ("가나漢字", False), ("ab 가나다 漢字 cd", True)])
def test_a_line_is_korean_if_six_tenths_of_its_other_characters_are_common_syllables(line: str, korean: bool) -> None:
    raw = line.encode("cp949")
    assert convert_lines(raw) == (line.encode() if korean else raw)


@pytest.mark.parametrize(
    "line",
    [
        "Müller, Straße, façade".encode("latin-1"),  # decodes as CP949 in parts, to rare syllables or not at all
        "日本語の論文".encode("shift_jis"),
        "中文論文".encode("big5"),
        bytes(range(128, 256)),
        "관리번호".encode()[:-1],
        "연구 결과를 보았다".encode()[1:],
    ],
)
def test_what_is_not_korean_stays_as_it_is(line: bytes) -> None:
    assert convert_lines(line) == line


@pytest.mark.parametrize("encoding", ["utf-16", "cp949"])
def test_a_file_in_another_encoding_is_read_as_utf_8_in_pieces_of_any_size(encoding: str) -> None:
    text = f"{KOREAN}\n" * 3
    for size in (1, 2, 1_000):
        reader = Utf8Reader(Path("a.csv"), io.BytesIO(text.encode(encoding)), encoding)
        assert b"".join(iter(lambda reader=reader, size=size: reader.read(size), b"")) == text.encode()  # type: ignore[misc]


def test_a_file_cut_within_a_character_is_damaged() -> None:
    cut = io.BytesIO("가".encode("utf-16")[:-1])
    with pytest.raises(CorpusError, match=r"^a\.csv is damaged UTF-16 \(truncated data\): copy the file again"):
        Utf8Reader(Path("a.csv"), cut).read()
