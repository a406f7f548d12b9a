"""Short answers against references: normalisation, exact match, string match, yes or no."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from shrag.indexing.analysis.morphemes import Morpheme
from shrag.indexing.analysis.normalization import fold

Split = Callable[[str], Sequence[Morpheme]]
"""Folded text → its morphemes, such as :meth:`shrag.indexing.analysis.morphological_analysis.KoreanMorphemes.split`."""

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


def exact_match(answer: str, references: Iterable[str], split: Split | None = None) -> float:
    """Return 1 where ``answer`` is one of ``references`` once both are normalised, else 0.

    With ``split``, particles at the end of a Korean answer are no difference. An empty answer matches nothing.
    """
    given = _compared(answer, split)
    return float(bool(given) and given in {_compared(reference, split) for reference in references})


def _compared(text: str, split: Split | None) -> str:
    return normalise(without_particles(text, split) if split else text)


def string_match(answer: str, references: Iterable[str]) -> float:
    """Return 1 where one of ``references`` stands in ``answer`` once both are normalised, else 0.

    STR-EM of ASQA (Stelmakh et al., 2022) for a question with one short answer in several wordings. It stands where no
    letter or digit of its own kind goes on before or behind it: 14 does not stand in 140 or 3.14, 14 and 이온 do in
    14 QL and 이온을, since Korean particles are written together with what they follow.

    >>> string_match("The two decouple from 14 QL on.", ["14"]), string_match("At 140 QL.", ["14"])
    (1.0, 0.0)
    """
    text = normalise(answer)
    return float(any(_stands(normalise(reference), text) for reference in references))


def _stands(wanted: str, text: str) -> bool:
    return bool(wanted) and re.search(rf"(?<![\w.]){re.escape(wanted)}(?![0-9a-z]|\.[0-9])", text) is not None


_YES = ("yes", "true", "correct", "예", "네", "그렇다", "그렇습니다", "맞다", "맞습니다", "참", "참이다")
_NO = (
    *("no", "false", "incorrect", "아니요", "아니오", "아니다", "아닙니다", "아뇨", "그렇지", "틀리다", "틀렸다"),
    *("틀립니다", "거짓", "거짓이다"),
)


def read_yes_no(answer: str) -> bool | None:
    """Return what an answer's first word says, None where that is neither yes nor no.

    >>> read_yes_no("예, 그렇습니다."), read_yes_no("No. It does not."), read_yes_no("Perhaps")
    (True, False, None)
    """
    first = next(iter(normalise(answer).split()), "")
    return True if first in _YES else False if first in _NO else None


def yes_no_accuracy(answer: str, reference: bool) -> float:
    """Return 1 where the answer begins with the right one of yes and no; 0 for the wrong one and for neither."""
    return float(read_yes_no(answer) is reference)
