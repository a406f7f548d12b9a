"""Token F1 and ROUGE-L of an answer and a reference."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from shrag.evaluation.measures.short_answers import Split
from shrag.indexing.analysis.normalization import fold


class Overlap(NamedTuple):
    """Shares of the answer's units that are in the reference (precision), of the reference's in the answer (recall)."""

    precision: float
    recall: float
    f1: float


def token_f1(answer: Sequence[str], reference: Sequence[str]) -> Overlap:
    """Return the overlap of units whatever their order, each as often as it stands in both (Rajpurkar et al., 2016).

    Two empty ones are the same; an empty one and another share nothing.
    """
    return _overlap((Counter(answer) & Counter(reference)).total(), len(answer), len(reference))


def rouge_l(answer: Sequence[str], reference: Sequence[str]) -> Overlap:
    """Return ROUGE-L of one text against one reference (Lin, ROUGE, 2004, section 3): units in common in their order.

    f1 weighs precision and recall alike, as the ``rouge-score`` package does. Empty ones as :func:`token_f1`.
    """
    return _overlap(_longest_common(answer, reference), len(answer), len(reference))


def best_overlap(found: Sequence[Overlap]) -> Overlap:
    """Return the one with the highest f1: a question may have several references. Zeros where there is none."""
    return max(found, key=lambda each: each.f1, default=Overlap(0.0, 0.0, 0.0))


def _overlap(shared: int, answer: int, reference: int) -> Overlap:
    if not answer and not reference:
        return Overlap(1.0, 1.0, 1.0)
    if not shared:
        return Overlap(0.0, 0.0, 0.0)
    return Overlap(shared / answer, shared / reference, 2 * shared / (answer + reference))


def _longest_common(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, a row of the table in one number.

    Bits of ``row`` are 0 where the table's row rises (Hyyrö, Bit-parallel LCS-length Computation Revisited, 2004):
    answers of some thousand characters take milliseconds.
    """
    places: dict[str, int] = {}
    for at, unit in enumerate(a):
        places[unit] = places.get(unit, 0) | 1 << at
    full = (1 << len(a)) - 1
    row = full
    for unit in b:
        shared = row & places.get(unit, 0)
        row = (row + shared | row - shared) & full
    return len(a) - row.bit_count()


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
