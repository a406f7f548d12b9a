"""Extract the text of HWPX, the format of the word processor Hangul: a ZIP archive of XML files.

Only Python's own modules read it.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from abc import ABC, abstractmethod
from xml.parsers import expat

from shrag.corpora.errors import RejectedLine
from shrag.corpora.readers.zip_archive import open_zip
from shrag.messages.text import Text

_SECTION = re.compile(r"Contents/section(\d{1,6})\.xml")
_PACKAGE = "Contents/content.hpf"
_BLANKS = ("tab", "lineBreak", "nbSpace", "fwSpace")
_DEEPEST = 200


def is_hwpx(names: list[str]) -> bool:
    """Return whether an archive with these files is HWPX."""
    return any(_SECTION.fullmatch(name) for name in names)


def read_hwpx(data: bytes) -> tuple[str, str]:
    """Return a document's title, empty if it has none, and its text with one line for each paragraph.

    Raises:
        RejectedLine: The data is not HWPX, is damaged or encrypted, or has no text.
    """
    with open_zip(data) as archive:
        names = archive.namelist()
        sections = sorted(filter(_SECTION.fullmatch, names), key=lambda name: int(_SECTION.sub(r"\1", name)))
        if not sections:
            raise RejectedLine(Text("the file is a ZIP archive but not an HWPX: it has no Contents/section0.xml"))
        try:
            paragraphs = [text for name in sections for text in _Paragraphs().read(archive.read(name))]
            title = _Title().read(archive.read(_PACKAGE)) if _PACKAGE in names else ""
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, expat.ExpatError) as error:
            raise RejectedLine(
                Text("the HWPX cannot be read ({error}); it may be damaged or encrypted", error=error)
            ) from None
    if not paragraphs:
        raise RejectedLine(Text("the HWPX holds no text"))
    return title, "\n".join(paragraphs)


class _Reader(ABC):
    """Reads one XML file of the archive; refuses document type declarations, so no entity is expanded."""

    def __init__(self) -> None:
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self.characters
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._depth = 0

    def _start(self, name: str, _: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise RejectedLine(Text("the HWPX nests XML deeper than {deepest} elements", deepest=_DEEPEST))
        self.start(name.rpartition(" ")[2])

    def _end(self, name: str) -> None:
        self._depth -= 1
        self.end(name.rpartition(" ")[2])

    def _doctype(self, *_: object) -> None:
        raise RejectedLine(Text("the HWPX has a document type declaration, which is refused"))

    def parse(self, data: bytes) -> None:
        self._parser.Parse(data, True)

    @abstractmethod
    def start(self, name: str) -> None:
        """Handle the beginning of an element."""

    @abstractmethod
    def end(self, name: str) -> None:
        """Handle the end of an element."""

    @abstractmethod
    def characters(self, text: str) -> None:
        """Handle text."""


class _Paragraphs(_Reader):
    """Collects the text (``t`` elements) of paragraphs ``p``; paragraphs in a table come before the one around it."""

    def __init__(self) -> None:
        super().__init__()
        self._open: list[list[str]] = []
        self._done: list[str] = []
        self._text_depth = 0

    def read(self, data: bytes) -> list[str]:
        self.parse(data)
        return self._done

    def start(self, name: str) -> None:
        if name == "p":
            self._open.append([])
        elif name == "t":
            self._text_depth += 1
        elif name in _BLANKS and self._open:
            self._open[-1].append(" ")

    def end(self, name: str) -> None:
        if name == "t":
            self._text_depth -= 1
        elif name == "p" and (text := " ".join("".join(self._open.pop()).split())):
            self._done.append(text)

    def characters(self, text: str) -> None:
        if self._text_depth and self._open:
            self._open[-1].append(text)


class _Title(_Reader):
    """Reads the first ``title`` in the description of the package."""

    def __init__(self) -> None:
        super().__init__()
        self._inside = False
        self._parts: list[str] = []

    def read(self, data: bytes) -> str:
        self.parse(data)
        return " ".join("".join(self._parts).split())

    def start(self, name: str) -> None:
        self._inside = name == "title" and not self._parts

    def end(self, name: str) -> None:
        self._inside = False

    def characters(self, text: str) -> None:
        if self._inside:
            self._parts.append(text)
