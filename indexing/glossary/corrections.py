"""User corrections of the glossary: file format and application.

    인공신경망<TAB>artificial neural network       adds a pair
    -<TAB>지도 학습<TAB>map learning                removes a pair
    # a comment

The file is UTF-8. The Korean side has a Hangul syllable, the English side none. Each index keeps a copy, which its next
build applies too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from shrag.indexing.analysis.analyzer import Analyzer, fold
from shrag.indexing.errors import GlossaryRejected
from shrag.indexing.glossary.store import MAX_TERMS, Entry, phrase_terms

FILE = "glossary-corrections.tsv"
"""File name in an index's folder."""

_HANGUL = re.compile("[\uac00-\ud7a3]")


class Correction(NamedTuple):
    """A pair that the user adds (``is_added``) or removes; the texts are normalized, ``line`` counts from 1."""

    korean: str
    english: str
    is_added: bool
    line: int


def read_corrections(path: Path) -> bytes:
    """Validate the user's file and return its bytes unchanged.

    Raises:
        GlossaryRejected: The file cannot be read, or :func:`parse_corrections` rejects it.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise GlossaryRejected(
            f"{path} cannot be read ({error.strerror}): give a file of tab-separated pairs."
        ) from None
    parse_corrections(content, str(path))
    return content


def stored_corrections(folder: Path) -> bytes:
    """Return the file of corrections that the index in ``folder`` was built with; empty where it has none."""
    path = folder / FILE
    return path.read_bytes() if path.is_file() else b""


def parse_corrections(content: bytes, name: str = FILE) -> list[Correction]:
    """Parse a file of corrections, called ``name`` in error messages.

    Raises:
        GlossaryRejected: The file is not UTF-8 or has an invalid line; the message names the first.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GlossaryRejected(f"{name} is not UTF-8 (byte {error.start}): save it as UTF-8.") from None
    corrections: list[Correction] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            corrections.append(_parse_line(line, number, name))
    return corrections


def _parse_line(line: str, number: int, name: str) -> Correction:
    fields = [fold(field).strip() for field in line.split("\t")]
    is_added = fields[0] != "-"
    if not is_added:
        fields = fields[1:]
    if len(fields) != 2 or not _HANGUL.search(fields[0]) or not fields[1] or _HANGUL.search(fields[1]):
        raise GlossaryRejected(
            f"{name}, line {number}: {line[:80]!r} is not a pair: write Korean<TAB>English, "
            "or -<TAB>Korean<TAB>English to remove a pair."
        )
    return Correction(fields[0], fields[1], is_added, number)


def apply_corrections(
    entries: Iterable[Entry], corrections: Sequence[Correction], analyzer: Analyzer, name: str = FILE
) -> list[Entry]:
    """Add and remove the user's pairs, in their order.

    Pairs are equal if their index terms are. A pair that is added replaces an equal one and has the score 1; removing a
    pair that is not there does nothing.

    Args:
        entries: The entries before correction, of all sources.
        corrections: The corrections.
        analyzer: The index's analyzer.
        name: Name of the file, for the error message.

    Raises:
        GlossaryRejected: A side of a pair has no index terms or more than :data:`MAX_TERMS`.
    """
    corrected = {(entry.korean_terms, entry.english_terms): entry for entry in entries}
    for correction in corrections:
        korean, english = phrase_terms(analyzer, correction.korean), phrase_terms(analyzer, correction.english)
        if not 0 < len(korean) <= MAX_TERMS or not 0 < len(english) <= MAX_TERMS:
            raise GlossaryRejected(
                f"{name}, line {correction.line}: {correction.korean!r} has {len(korean)} terms and "
                f"{correction.english!r} {len(english)}; a pair has 1 to {MAX_TERMS} on each side."
            )
        if correction.is_added:
            corrected[korean, english] = Entry(correction.korean, correction.english, korean, english, 0, "user", 1.0)
        else:
            corrected.pop((korean, english), None)
    return list(corrected.values())
