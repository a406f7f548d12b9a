"""Encodings of text files: UTF-8, UTF-16 by its byte order mark, and CP949 (EUC-KR) where text is not UTF-8."""

from __future__ import annotations

import codecs
import io
from typing import TYPE_CHECKING, BinaryIO

from shrag.corpora.errors import CorpusError
from shrag.messages.text import Text

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Buffer

UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

_CHUNK = 2**16
_KOREAN_SHARE = 0.6
"""Least share of common Hangul syllables among the characters outside ASCII of a line that is taken for CP949."""


class LineDecoder:
    """Converts the lines of one file to UTF-8.

    The first line with other bytes than ASCII decides. If it is UTF-8, so is the file, and other lines stay as they
    are: they are rejected one by one. If it is not UTF-8 but Korean in CP949, lines that are not UTF-8 are converted.
    A line break is no part of a character of CP949, so that bytes can be split into lines before.
    """

    def __init__(self) -> None:
        self.encoding = ""
        """``UTF-8`` or ``CP949``, empty as long as all lines are ASCII."""

    def convert(self, line: bytes) -> bytes:
        """Return a line in UTF-8, or as it is where it is in neither encoding."""
        if self.encoding == "UTF-8" or line.isascii():
            return line
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            return self._from_cp949(line)
        self.encoding = self.encoding or "UTF-8"
        return line

    def _from_cp949(self, line: bytes) -> bytes:
        try:
            text = line.decode("cp949")
        except UnicodeDecodeError:
            self.encoding = self.encoding or "UTF-8"
            return line
        if not self.encoding:
            self.encoding = "CP949" if _is_korean(text) else "UTF-8"
        return text.encode() if self.encoding == "CP949" else line


def convert_lines(data: bytes) -> bytes:
    """Return text in UTF-8, converted from CP949 where it is that."""
    decoder = LineDecoder()
    return b"\n".join(map(decoder.convert, data.split(b"\n")))


def _is_korean(text: str) -> bool:
    foreign = [character for character in text if not character.isascii()]
    common = sum("가" <= character <= "힣" and _is_common(character) for character in foreign)
    return common >= _KOREAN_SHARE * len(foreign)


def _is_common(syllable: str) -> bool:
    """Return whether a syllable is one of the 2,350 of EUC-KR, which text in another encoding seldom hits."""
    try:
        return bool(syllable.encode("euc_kr"))
    except UnicodeEncodeError:
        return False


class Utf8Reader(io.RawIOBase):
    """Reads a stream of another encoding, which Python names ``utf-16`` or ``cp949``, as UTF-8."""

    def __init__(self, path: Path, stream: BinaryIO, encoding: str = "utf-16") -> None:
        self._path, self._stream, self._encoding = path, stream, encoding.upper()
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._rest = b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        """Fill ``buffer`` with UTF-8 and return the number of bytes, 0 at the end."""
        view = memoryview(buffer)
        while not self._rest:
            data = self._stream.read(_CHUNK)
            try:
                self._rest = self._decoder.decode(data, final=not data).encode()
            except UnicodeDecodeError as error:
                raise CorpusError(
                    Text(
                        "{path} is damaged {encoding} ({reason}): copy the file again from its source, or save "
                        "it as UTF-8.",
                        path=self._path,
                        encoding=self._encoding,
                        reason=error.reason,
                    )
                ) from None
            if not data:
                break
        size = min(len(view), len(self._rest))
        view[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size
