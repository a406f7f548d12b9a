"""Encodings of text files: UTF-8, UTF-16 with a byte order mark, and CP949 (EUC-KR) for other Korean text."""

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
"""The least share of common Hangul syllables among the non-ASCII characters of a line that is taken for CP949."""


class LineDecoder:
    """Converts the lines of one file to UTF-8.

    The first line with bytes outside ASCII decides. If it is UTF-8, the file is UTF-8, and lines in another encoding
    stay as they are and are rejected one by one. If it is Korean in CP949, all lines that are not UTF-8 are converted.
    No character of CP949 contains the byte of a line break, so a file can be split into lines before they are decoded.
    """

    def __init__(self) -> None:
        self.encoding = ""
        """``UTF-8`` or ``CP949``, empty as long as all lines are ASCII."""

    def convert(self, line: bytes) -> bytes:
        """Return a line in UTF-8; a line in neither encoding is returned as it is."""
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
    """Return text in UTF-8; text in CP949 is converted."""
    decoder = LineDecoder()
    return b"\n".join(map(decoder.convert, data.split(b"\n")))


def _is_korean(text: str) -> bool:
    foreign = [character for character in text if not character.isascii()]
    common = sum("가" <= character <= "힣" and _is_common(character) for character in foreign)
    return common >= _KOREAN_SHARE * len(foreign)


def _is_common(syllable: str) -> bool:
    """Return whether a syllable is one of the 2,350 of EUC-KR; bytes of another encoding seldom decode to these."""
    try:
        return bool(syllable.encode("euc_kr"))
    except UnicodeEncodeError:
        return False


class Utf8Reader(io.RawIOBase):
    """Reads a stream in another encoding as UTF-8; ``encoding`` is Python's name, ``utf-16`` or ``cp949``."""

    def __init__(self, path: Path, stream: BinaryIO, encoding: str = "utf-16") -> None:
        self._path, self._stream, self._encoding = path, stream, encoding.upper()
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._rest = b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        """Fill ``buffer`` with UTF-8 and return the number of bytes, which is 0 at the end."""
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
