"""Normalize short answers, and measure them: exact match, string match, yes or no."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from shrag.indexing.analysis.analyzer import fold
from shrag.indexing.analysis.morphological_analysis import Morpheme

SplitMorphemes = Callable[[str], Sequence[Morpheme]]
"""A function from folded text to its morphemes.

An example is :meth:`shrag.indexing.analysis.morphological_analysis.KoreanMorphemes.split`.
"""

_HANGUL = re.compile("[\uac00-\ud7a3]")
_LETTER = "[^\\W\uac00-\ud7a3]"
"""Pattern of a letter or digit that is not Hangul."""

_ARTICLES = re.compile(rf"\b(?:a|an|the)\b(?=\s+{_LETTER})")
_CAPITAL_A = re.compile(r"(?<=[^.!?:]\s)A\b")
_CAPITAL_A_MARK = "\N{LATIN LETTER SMALL CAPITAL A}"
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_POINT = re.compile(r"(?<=\d)\.(?=\d)")
_POINT_MARK = "\N{ONE DOT LEADER}"


def normalise(text: str) -> str:
    """Return ``text`` in lower case, without punctuation and English articles, with single spaces.

    This is the normalization of SQuAD's evaluation (Rajpurkar et al., 2016), applied to the folded text (NFKC). So
    decomposed Hangul and full-width letters make no difference. The point in a number is kept: 3.5 is not 35. Only what
    can be an article is removed: a word that is not Hangul follows it, and it is no capital A within a sentence. So
    vitamin A and the answer A are kept.

    >>> normalise("The ‘Deep’ Learning, 3.5 of 1,200!")
    'deep learning 3.5 of 1200'
    """
    lowered = _CAPITAL_A.sub(_CAPITAL_A_MARK, fold(text)).lower()
    marked = _POINT.sub(_POINT_MARK, _THOUSANDS.sub("", lowered))
    bare = "".join(each for each in marked if each == _POINT_MARK or not unicodedata.category(each).startswith("P"))
    return " ".join(_ARTICLES.sub(" ", bare).replace(_CAPITAL_A_MARK, "a").replace(_POINT_MARK, ".").split())


def without_particles(text: str, split: SplitMorphemes) -> str:
    """Return a short Korean answer without particles and copula at its end: 서울에서, 서울이다 → 서울.

    Kiwi decides what is a particle, so 종이 and 회의 are unchanged. Text that has no Hangul, or nothing but particles,
    is returned folded.
    """
    folded = fold(text).strip()
    if not _HANGUL.search(folded):
        return folded
    morphemes = list(split(folded))
    end = len(folded)
    while morphemes and _is_removable_ending(morphemes):
        end = min(end, morphemes.pop().start)
    return folded[:end].rstrip() or folded


def _is_removable_ending(morphemes: Sequence[Morpheme]) -> bool:
    """Return whether the last morpheme is punctuation, a particle, a copula, or an ending after a copula."""
    tag = morphemes[-1].tag
    if tag in ("SF", "SP", "SS", "SSO", "SSC", "SE") or tag.startswith("J") or tag == "VCP":
        return True
    stem_tag = next((each.tag for each in reversed(morphemes) if not each.tag.startswith("E")), "")
    return tag.startswith("E") and stem_tag == "VCP"


def exact_match(answer: str, references: Iterable[str], split: SplitMorphemes | None = None) -> float:
    """Return 1 if the normalized ``answer`` equals one of the normalized ``references``, else 0.

    With ``split``, particles at the end of a Korean answer are ignored. An empty answer matches nothing.
    """
    normalised = _normalise_answer(answer, split)
    return float(bool(normalised) and normalised in {_normalise_answer(reference, split) for reference in references})


def _normalise_answer(text: str, split: SplitMorphemes | None) -> str:
    return normalise(without_particles(text, split) if split else text)


def string_match(answer: str, references: Iterable[str]) -> float:
    """Return 1 if the normalized ``answer`` contains one of the normalized ``references``, else 0.

    This is STR-EM of ASQA (Stelmakh et al., 2022) for one short answer in several wordings. A reference must not be
    part of a longer word or number: 140 and 3.14 do not contain 14, and naïve does not contain na. Hangul may follow
    the reference, because Korean attaches particles to the word: 이온을 contains 이온.

    >>> string_match("The two decouple from 14 QL on.", ["14"]), string_match("At 140 QL.", ["14"])
    (1.0, 0.0)
    """
    text = normalise(answer)
    return float(any(_contains(text, normalise(reference)) for reference in references))


def _contains(text: str, reference: str) -> bool:
    return bool(reference) and re.search(rf"(?<![\w.]){re.escape(reference)}(?!{_LETTER}|\.[0-9])", text) is not None


_YES = ("yes", "true", "correct", "예", "네", "그렇다", "그렇습니다", "맞다", "맞습니다", "참", "참이다")
_NO = (
    *("no", "false", "incorrect", "아니요", "아니오", "아니다", "아닙니다", "아뇨", "그렇지", "틀리다", "틀렸다"),
    *("틀립니다", "거짓", "거짓이다"),
)


def read_yes_no(answer: str) -> bool | None:
    """Return True if an answer's first word means yes, False if it means no, and None for any other word.

    >>> read_yes_no("예, 그렇습니다."), read_yes_no("No. It does not."), read_yes_no("Perhaps")
    (True, False, None)
    """
    first = next(iter(normalise(answer).split()), "")
    return True if first in _YES else False if first in _NO else None


def yes_no_accuracy(answer: str, reference: bool) -> float:
    """Return 1 if the answer begins with yes (``reference`` True) or no (``reference`` False), else 0."""
    return float(read_yes_no(answer) is reference)
