"""Short answers in the form in which they are compared: capitals, articles, punctuation and particles taken away."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from shrag.indexing.folding import fold
from shrag.indexing.morphemes import Morpheme

Split = Callable[[str], Sequence[Morpheme]]
"""Folded text → its morphemes, such as :meth:`shrag.indexing.korean.KoreanMorphemes.split`."""

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_POINT = re.compile(r"(?<=\d)\.(?=\d)")
_KEPT_POINT = "\N{ONE DOT LEADER}"


def normalise(text: str) -> str:
    """Return ``text`` in lower case, without punctuation and English articles, words one space apart.

    As SQuAD's evaluation does it (Rajpurkar et al., 2016), over the folded form (NFKC, so that decomposed Hangul and
    full-width letters are no difference); the point inside a number stays, so that 3.5 is not 35.

    >>> normalise("The ‘Deep’ Learning, 3.5 of 1,200!")
    'deep learning 3.5 of 1200'
    """
    lowered = _POINT.sub(_KEPT_POINT, _THOUSANDS.sub("", fold(text).lower()))
    bare = "".join(each for each in lowered if each == _KEPT_POINT or not unicodedata.category(each).startswith("P"))
    return " ".join(_ARTICLES.sub(" ", bare).replace(_KEPT_POINT, ".").split())


def without_particles(text: str, split: Split) -> str:
    """Return a short Korean answer without the particles and the copula at its end: 서울에서, 서울이다 → 서울.

    Kiwi decides what is a particle, so 종이 and 회의 stay. Text without Hangul, and text that would be empty, is
    returned as it is, folded.
    """
    folded = fold(text).strip()
    if not _HANGUL.search(folded):
        return folded
    kept = list(split(folded))
    end = len(folded)
    while kept and _falls_away(kept):
        end = min(end, kept.pop().start)
    return folded[:end].rstrip() or folded


def _falls_away(morphemes: Sequence[Morpheme]) -> bool:
    """Say whether the last morpheme is punctuation, a particle, a copula, or an ending that a copula carries."""
    tag = morphemes[-1].tag
    if tag in ("SF", "SP", "SS", "SSO", "SSC", "SE") or tag.startswith("J") or tag == "VCP":
        return True
    carrier = next((each.tag for each in reversed(morphemes) if not each.tag.startswith("E")), "")
    return tag.startswith("E") and carrier == "VCP"
