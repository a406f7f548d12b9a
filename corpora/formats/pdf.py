"""Extract the text of a PDF; the only module that imports pypdf."""

from __future__ import annotations

import io
import logging
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from shrag.corpora.errors import RejectedLine
from shrag.messages.text import Text

# Titles that word processors write into documents without a title.
_NO_TITLE = re.compile(r"^(?:untitled|microsoft word\b.*)$|\.(?:docx?|hwpx?|tex|dvi|pdf|indd)$", re.IGNORECASE)
_HYPHENATED = re.compile(r"(?<=[a-z])-\n(?=[a-z])")


_PROBES = (40, 20, 10)
"""How many letters and digits of a passage's start or end are searched for, in this order.

The shorter probes find ends near a replaced URL.
"""

_LONGEST_LABEL = 12


class PdfPage(NamedTuple):
    """A page's number as PDF readers show it (``iv``, ``12``), and its text with the printed line breaks."""

    label: str
    text: str


class Pdf(NamedTuple):
    """A PDF's title, empty if it has none, and its pages."""

    title: str
    pages: list[PdfPage]

    @property
    def text(self) -> str:
        """The text of all pages; words that were hyphenated at the end of a line are joined."""
        return _HYPHENATED.sub("", "\n".join(page.text for page in self.pages))


class PageFinder:
    """Finds the pages of passages by their letters and digits; the passages must come in the order of the text."""

    def __init__(self, pages: Sequence[PdfPage]) -> None:
        texts = [_letters(page.text) for page in pages]
        self._labels = [page.label for page in pages]
        self._text = "".join(texts)
        self._starts = [0, *accumulate(map(len, texts))][:-1]
        self._last = 0

    def find(self, passage: str) -> str:
        """Return the label of the passage's page, or of its first and last pages (``3-4``); empty if not found."""
        letters = _letters(passage)
        head = self._find([letters[:length] for length in _PROBES], self._last)
        if not head:
            return ""
        self._last = head.start
        tail = self._find([letters[-length:] for length in _PROBES], head.start) or head
        first, last = (self._labels[bisect_right(self._starts, at) - 1] for at in (head.start, tail.stop - 1))
        return first if first == last else f"{first}-{last}"

    def _find(self, probes: Sequence[str], start: int) -> range:
        for probe in filter(None, probes):
            at = self._text.find(probe, start)
            if at >= 0:
                return range(at, at + len(probe))
        return range(0)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFC", text)))


def read_pdf(data: bytes) -> Pdf:
    """Return the title and the pages of a PDF.

    Raises:
        RejectedLine: The data is not a PDF, is damaged or encrypted, or has no text, like a scan.
    """
    logging.getLogger("pypdf").addHandler(logging.NullHandler())  # its warnings about sloppy files do not help users
    try:
        title, pages = _extract(data)
    except (RejectedLine, MemoryError):
        raise
    except Exception as error:  # a damaged file can fail anywhere in the parser, with any exception
        raise RejectedLine(
            Text("the PDF cannot be read ({name}: {error})", name=type(error).__name__, error=error)
        ) from None
    if not any(page.text.strip() for page in pages):
        raise RejectedLine(Text("the PDF holds no text; it may be a scan, which needs character recognition first"))
    return Pdf("" if _NO_TITLE.search(title) else title, pages)


def _extract(data: bytes) -> tuple[str, list[PdfPage]]:
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise RejectedLine(Text("the PDF is encrypted: save a copy without a password"))
    pages = [
        PdfPage(label if 0 < len(label) <= _LONGEST_LABEL and label.isprintable() else str(number), page.extract_text())
        for number, (label, page) in enumerate(zip(reader.page_labels, reader.pages, strict=True), 1)
    ]
    return ((reader.metadata.title or "") if reader.metadata else "").strip(), pages
