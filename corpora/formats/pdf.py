"""Extract the text of a PDF; the only module that imports pypdf."""

from __future__ import annotations

import io
import logging
import re

from shrag.corpora.errors import RejectedLine

# Titles that word processors write if there is none.
_NO_TITLE = re.compile(r"^(?:untitled|microsoft word\b.*)$|\.(?:docx?|hwpx?|tex|dvi|pdf|indd)$", re.IGNORECASE)
_HYPHENATED = re.compile(r"(?<=[a-z])-\n(?=[a-z])")


def read_pdf(data: bytes) -> tuple[str, str]:
    """Return a PDF's title, empty if it has none, and its text with line breaks as printed.

    Raises:
        RejectedLine: It is no PDF, damaged or encrypted, or has no text, like a scan.
    """
    logging.getLogger("pypdf").addHandler(logging.NullHandler())  # its warnings about sloppy files are of no use here
    try:
        title, text = _extract(data)
    except (RejectedLine, MemoryError):
        raise
    except Exception as error:  # a damaged file fails anywhere in the parser, with anything Python has
        raise RejectedLine(f"the PDF cannot be read ({type(error).__name__}: {error})") from None
    if not text.strip():
        raise RejectedLine("the PDF holds no text; it may be a scan, which needs character recognition first")
    return "" if _NO_TITLE.search(title) else title, _HYPHENATED.sub("", text)


def _extract(data: bytes) -> tuple[str, str]:
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise RejectedLine("the PDF is encrypted: save a copy without a password")
    pages = [page.extract_text() for page in reader.pages]
    return (reader.metadata.title or "") if reader.metadata else "", "\n".join(pages)
