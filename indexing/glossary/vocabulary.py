"""The bilingual vocabulary that comes with SHRAG: one file of Korean–English terms per discipline."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

_FOLDER = Path(__file__).with_name("terms")
_FIRST_CONFIDENCE, _CONFIDENCE_STEP, _LOWEST_CONFIDENCE = 0.95, 0.1, 0.45
_AMBIGUOUS = 0.8
_SHORT_ACRONYM = re.compile("[A-Z]{2,3}")


class VocabularyTerm(NamedTuple):
    """A Korean and an English term, and the confidence in the translation before a corpus is read, from 0 to 1.

    A line of ``terms/*.tsv`` has a Korean headword and its translations; the first has the confidence 0.95, each
    further one 0.1 less, but at least 0.45. A Korean word of one syllable and an acronym of two or three letters have
    many meanings: their confidence is multiplied by 0.8.
    """

    korean: str
    english: str
    confidence: float


def read_vocabulary() -> list[VocabularyTerm]:
    """Read all files, in alphabetical order; a pair in several files is listed once, with its highest confidence."""
    found: dict[tuple[str, str], float] = {}
    for path in sorted(_FOLDER.glob("*.tsv")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                korean, _, translations = line.partition("\t")
                for number, english in enumerate(translations.split(", ")):
                    confidence = max(_LOWEST_CONFIDENCE, _FIRST_CONFIDENCE - _CONFIDENCE_STEP * number)
                    if len(korean) == 1 or _SHORT_ACRONYM.fullmatch(english):
                        confidence *= _AMBIGUOUS
                    found[korean, english] = max(found.get((korean, english), 0.0), confidence)
    return [VocabularyTerm(korean, english, confidence) for (korean, english), confidence in found.items()]
