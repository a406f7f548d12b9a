"""Token F1 and ROUGE-L between an answer and a reference."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from shrag.evaluation.measures.short_answers import SplitMorphemes
from shrag.indexing.analysis.analyzer import fold


class Overlap(NamedTuple):
    """How far the units of an answer and of a reference overlap.

    Attributes:
        precision: Share of the answer's units that are in the reference.
        recall: Share of the reference's units that are in the answer.
        f1: The harmonic mean of the two.
    """

    precision: float
    recall: float
    f1: float


def token_f1(answer: Sequence[str], reference: Sequence[str]) -> Overlap:
    """Return the overlap of two multisets of units (Rajpurkar et al., SQuAD, 2016).

    The overlap is 1 if both sequences are empty, and 0 if only one is.
    """
    return _overlap((Counter(answer) & Counter(reference)).total(), len(answer), len(reference))


def rouge_l(answer: Sequence[str], reference: Sequence[str]) -> Overlap:
    """Return ROUGE-L, the overlap by longest common subsequence (Lin, ROUGE, 2004, section 3).

    F1 weighs precision and recall equally, as in the package ``rouge-score``. Empty sequences count as in
    :func:`token_f1`.
    """
    return _overlap(_longest_common(answer, reference), len(answer), len(reference))


def best_overlap(overlaps: Sequence[Overlap]) -> Overlap:
    """Return the overlap with the highest F1, or zeros if there is none. A question may have several references."""
    return max(overlaps, key=lambda each: each.f1, default=Overlap(0.0, 0.0, 0.0))


def _overlap(shared: int, answer: int, reference: int) -> Overlap:
    if not answer and not reference:
        return Overlap(1.0, 1.0, 1.0)
    if not shared:
        return Overlap(0.0, 0.0, 0.0)
    return Overlap(shared / answer, shared / reference, 2 * shared / (answer + reference))


def _longest_common(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the length of the longest common subsequence.

    A row of the dynamic-programming table is one integer. A bit is 0 where the row increases (Hyyrö, Bit-parallel
    LCS-length Computation Revisited, 2004). Answers of some thousand characters take milliseconds.
    """
    positions: dict[str, int] = {}
    for position, unit in enumerate(a):
        positions[unit] = positions.get(unit, 0) | 1 << position
    full = (1 << len(a)) - 1
    row = full
    for unit in b:
        shared = row & positions.get(unit, 0)
        row = (row + shared | row - shared) & full
    return len(a) - row.bit_count()


_WORD = re.compile(r"[a-z0-9]+|[^\W_a-z0-9]+")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")


def words(text: str) -> list[str]:
    """Return the words of English text in lower case.

    A word is a run of letters and digits, either Latin or of other scripts. For ASCII text the words are the tokens of
    the package ``rouge-score`` without stemming.
    """
    return _WORD.findall(fold(text).lower())


def characters(text: str) -> list[str]:
    """Return the letters and digits in lower case; a Hangul syllable is one of them. Spacing makes no difference."""
    return _LETTER_OR_DIGIT.findall(fold(text).lower())


def morphemes(text: str, split: SplitMorphemes) -> list[str]:
    """Return Kiwi's morphemes in lower case, including particles and endings, but not punctuation."""
    return [
        each.form.lower()
        for each in split(fold(text))
        if not each.tag.startswith("S") or each.tag in ("SL", "SN", "SH")
    ]
