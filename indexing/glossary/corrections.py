"""The user's own term lists and corrections of the glossary: file formats and application.

    인공신경망<TAB>artificial neural network, ANN   adds a pair for each translation, the usual one first
    -<TAB>지도 학습<TAB>map learning                removes a pair
    telework<TAB>telecommuting, remote work         adds synonyms: each word of the line is one of each other word
    -<TAB>회전<TAB>순환                             removes synonyms
    # a comment

The file is UTF-8. The Korean side of a pair has a Hangul syllable, the English side has none. Synonyms have one on both
sides, or none on either. A file in TBX is converted to such lines. Each index keeps a copy of all lines, and its next
build applies them too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from shrag.indexing.analysis.analyzer import Analyzer, fold
from shrag.indexing.errors import GlossaryRejected
from shrag.indexing.glossary.store import MAX_TERMS, Entry, phrase_terms
from shrag.indexing.glossary.tbx import is_tbx, parse_tbx
from shrag.messages.text import Text

FILE = "glossary-corrections.tsv"
"""File name in an index's folder."""

_HANGUL = re.compile("[\uac00-\ud7a3]")
_ORIGIN = re.compile(r"# from (.+), line (\d+)")
_TRANSLATIONS = re.compile(r"\s*,\s+")
_CONFIDENCE_STEP, _LOWEST_CONFIDENCE = 0.05, 0.5
REPORTED = 5
"""Number of pairs of the user's lists, and of their synonyms, that are named if they are not used."""


class Correction(NamedTuple):
    """A pair that the user adds (``is_added``) or removes; the texts are normalized.

    ``origin`` is the file and the line, for messages. ``confidence`` is 1 for the first translation on a line, and 0.05
    less for each further one, but at least 0.5.
    """

    korean: str
    english: str
    is_added: bool
    origin: str
    confidence: float = 1.0


class SynonymCorrection(NamedTuple):
    """Words of one language that the user makes synonyms of each other (``is_added``), or no synonyms of the first.

    ``origin`` is the file and the line, for messages.
    """

    words: tuple[str, ...]
    is_added: bool
    origin: str


class Corrections(NamedTuple):
    """What the user adds and removes, in the order of the lines."""

    pairs: list[Correction]
    synonyms: list[SynonymCorrection]


def read_corrections(paths: Sequence[Path]) -> bytes:
    """Validate the user's files, TSV or TBX, and return their lines, with comments that name the file and line.

    Raises:
        GlossaryRejected: A file cannot be read, or :func:`~shrag.indexing.glossary.tbx.parse_tbx` or
            :func:`parse_corrections` rejects it.
    """
    parts: list[bytes] = []
    for path in paths:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise GlossaryRejected(
                Text(
                    "{path} cannot be read ({strerror}): give a file of tab-separated pairs, or TBX.",
                    path=path,
                    strerror=error.strerror,
                )
            ) from None
        if is_tbx(content):
            parts.append(_convert_tbx(content, path.name))
        elif content.strip():
            parts.append(_origin(path.name, 1) + content.removeprefix(b"\xef\xbb\xbf") + b"\n")
            parse_corrections(content, path.name)
    return b"".join(parts)


def _convert_tbx(content: bytes, name: str) -> bytes:
    """Return a TBX file's pairs and synonyms as lines.

    Korean terms without Hangul are left out, since they need no translation. So are English terms with Hangul.
    """
    lines: list[bytes] = []
    for concept in parse_tbx(content, name):
        # A concept may have the same term for several countries (en-US, en-GB).
        ours, theirs = (dict.fromkeys(map(_plain_term, terms)) for terms in (concept.korean, concept.english))
        english = [term for term in theirs if term and not _HANGUL.search(term)]
        korean = [term for term in ours if _HANGUL.search(term)]
        rows = [(term, english) for term in korean] if english else []
        rows += [(terms[0], terms[1:]) for terms in (korean, english) if len(terms) > 1]
        lines += [_origin(name, concept.line) + f"{term}\t{', '.join(others)}\n".encode() for term, others in rows]
    return b"".join(lines)


def _origin(name: str, line: int) -> bytes:
    """Return the comment that names the file and the line of what follows; a name may have bytes that are not UTF-8."""
    return f"# from {name}, line {line}\n".encode(errors="backslashreplace")


def _plain_term(term: str) -> str:
    """Return a folded term without what has a meaning in a line: a comma with a space, and a leading ``#`` or ``-``."""
    return _TRANSLATIONS.sub(" ", fold(term)).lstrip("#- ")


def stored_corrections(folder: Path) -> bytes:
    """Return the file of corrections that the index in ``folder`` was built with, empty if it has none."""
    path = folder / FILE
    return path.read_bytes() if path.is_file() else b""


def parse_corrections(content: bytes, name: str = FILE) -> Corrections:
    """Parse lines of corrections; ``name`` is the file's name in messages, unless a comment names another origin.

    Raises:
        GlossaryRejected: The file is not UTF-8 or has an invalid line; the message names the first.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        bad = content.count(b"\n", 0, error.start) + 1
        raise GlossaryRejected(
            Text(
                "{name}, line {number}: not UTF-8 (byte {position}): save it as UTF-8.",
                name=name,
                number=bad,
                position=error.start,
            )
        ) from None
    corrections = Corrections([], [])
    number = 0
    for line in text.splitlines():
        number += 1
        origin = _ORIGIN.fullmatch(line)
        if origin:
            name, number = origin[1], int(origin[2]) - 1
        elif line.strip() and not line.startswith("#"):
            _parse_line(line, f"{name}, line {number}", corrections)
    return corrections


def _parse_line(line: str, origin: str, corrections: Corrections) -> None:
    """Add what the line says to ``corrections``."""
    fields = [fold(field).strip() for field in line.split("\t")]
    is_added = fields[0] != "-"
    if not is_added:
        fields = fields[1:]
    others = _TRANSLATIONS.split(fields[-1]) if fields else []
    is_korean = bool(fields and _HANGUL.search(fields[0]))
    are_korean = {bool(_HANGUL.search(each)) for each in others}
    are_synonyms = are_korean == {is_korean}
    if len(fields) != 2 or not all([fields[0], *others]) or not (are_synonyms or are_korean == {False}):
        raise GlossaryRejected(
            Text(
                "{origin}: {line!r} is not a pair: write Korean<TAB>English, other English, or "
                "-<TAB>Korean<TAB>English to remove a pair. Synonyms are words of one language on both sides.",
                origin=origin,
                line=line[:80],
            )
        )
    if are_synonyms:
        corrections.synonyms.append(SynonymCorrection((fields[0], *others), is_added, origin))
        return
    for place, english in enumerate(others):
        confidence = max(_LOWEST_CONFIDENCE, 1 - _CONFIDENCE_STEP * place)
        corrections.pairs.append(Correction(fields[0], english, is_added, origin, confidence))


def apply_corrections(
    entries: Iterable[Entry],
    corrections: Sequence[Correction],
    analyzer: Analyzer,
    notify: Callable[[str], None],
) -> list[Entry]:
    """Add and remove the user's pairs, in their order.

    Pairs are equal if their index terms are. An added pair replaces an equal one. Removing a pair that does not exist
    does nothing. A pair is not used if one of its sides has no index terms, or more than :data:`MAX_TERMS`.

    Args:
        entries: The entries before correction, of all sources.
        corrections: The corrections.
        analyzer: The index's analyzer.
        notify: Called with a message about each of the first pairs that are not used, and with one about their number.
    """
    corrected = {(entry.korean_terms, entry.english_terms): entry for entry in entries}
    unused = 0
    for correction in corrections:
        korean, english = phrase_terms(analyzer, correction.korean), phrase_terms(analyzer, correction.english)
        if not 0 < len(korean) <= MAX_TERMS or not 0 < len(english) <= MAX_TERMS:
            unused += 1
            if unused <= REPORTED:
                notify(
                    Text(
                        "{origin} is not used: {korean!r} has {korean_terms} terms and {english!r} {english_terms}; "
                        "a pair has 1 to {most} on each side.",
                        origin=correction.origin,
                        korean=correction.korean,
                        korean_terms=len(korean),
                        english=correction.english,
                        english_terms=len(english),
                        most=MAX_TERMS,
                    )
                )
        elif correction.is_added:
            corrected[korean, english] = Entry(
                correction.korean, correction.english, korean, english, 0, "user", correction.confidence
            )
        else:
            corrected.pop((korean, english), None)
    if unused > REPORTED:
        notify(Text("In all, {unused:,} pairs of the user's lists are not used.", unused=unused))
    return list(corrected.values())
