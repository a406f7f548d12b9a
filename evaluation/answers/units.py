"""What an answer is cut into before it is compared: words, characters, or Kiwi's morphemes."""

from __future__ import annotations

import re

from shrag.evaluation.answers.normalisation import Split
from shrag.indexing.folding import fold

_WORD = re.compile(r"[a-z0-9]+|[^\W_a-z0-9]+")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")


def words(text: str) -> list[str]:
    """Return the runs of letters and digits in lower case, for English; Latin and other letters are apart.

    Of ASCII text they are what the ``rouge-score`` package counts without stemming.
    """
    return _WORD.findall(fold(text).lower())


def characters(text: str) -> list[str]:
    """Return the letters and digits in lower case, a Hangul syllable as one: spacing is no difference in Korean."""
    return _LETTER_OR_DIGIT.findall(fold(text).lower())


def morphemes(text: str, split: Split) -> list[str]:
    """Return Kiwi's morphemes in lower case, particles and endings too, without punctuation."""
    return [
        each.form.lower()
        for each in split(fold(text))
        if not each.tag.startswith("S") or each.tag in ("SL", "SN", "SH")
    ]
