"""Probabilistic transliteration model: how likely a Korean word is a loanword, and from which English word.

For a pair of words, the model takes the probability of the English spelling given the Korean letters. It divides it by
the probability of the same letters in any English word. This likelihood ratio says how strong the evidence is; it grows
with the words' length.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise

from shrag.indexing.glossary.jamo import split_syllable
from shrag.indexing.glossary.spelling.costs import SPELLING_COSTS, SYLLABLE_LOG_ODDS

_DIPHTHONGS = frozenset(("ㅏㅣ", "ㅔㅣ", "ㅗㅣ", "ㅏㅜ", "ㅗㅜ", "ㅣㅓ", "ㅔㅓ", "ㅜㅓ"))
_CLUSTERS = {"ㄹ$ㄹ": "ㄹㄹ", "ㄱ$ㅅ": "ㄱㅅ"}
_PALATAL_VOWELS = frozenset("ㅑㅕㅖㅛㅠ")
_MAX_LOG_ODDS = 5.0
_UNKNOWN_SYLLABLE = 1.0  # neither in a loanword nor in another word of the lists: seldom a Chinese reading
_MISSING = 12.0
_WRONG = 13.0
_MAX_MEAN_COST = 1.2
_SILENT = 6.0
_MAX_SILENT = 2
_RARE = 5.0
_REPEATED = re.compile(r"(.)\1+")


def loanword_log_odds(korean: str) -> float:
    """Return the log-odds that a Hangul word is a loanword, by its syllables, before any other evidence.

    >>> loanword_log_odds("스케일") > 3, loanword_log_odds("자유") < 0
    (True, True)
    """
    total = sum(SYLLABLE_LOG_ODDS.get(syllable, _UNKNOWN_SYLLABLE) for syllable in korean)
    return max(-_MAX_LOG_ODDS, min(_MAX_LOG_ODDS, total))


def has_loanword_syllable(korean: str) -> bool:
    """Return whether a syllable is more frequent in loanwords; the model takes no other word for a loanword."""
    return any(SYLLABLE_LOG_ODDS.get(syllable, _UNKNOWN_SYLLABLE) > 0 for syllable in korean)


def sounds(korean: str) -> tuple[str, ...]:
    """Split a Hangul word into the units that have English spellings.

    - letters (jamo), with ``$`` after a final consonant
    - ``^ㄹ`` at the beginning of a word, which may be r or l, and ``ㄹㄹ`` between vowels, which is l
    - ``ㄱㅅ``, which may be x
    - two vowels that are one in English (ㅔㅣ, cake)
    - ㅅ with a vowel such as ㅕ (ㅅㅕ, -tion)

    >>> sounds("케이션"), sounds("롤러")
    (('ㅋ', 'ㅔㅣ', 'ㅅㅕ', 'ㄴ$'), ('^ㄹ', 'ㅗ', 'ㄹㄹ', 'ㅓ'))
    """
    found: list[str] = []
    for syllable in korean:
        first, vowel, last = split_syllable(syllable)
        if first == "ㅇ" and found and found[-1] + vowel in _DIPHTHONGS:
            found[-1] += vowel
        elif first == "ㅅ" and vowel in _PALATAL_VOWELS:
            found.append(first + vowel)
        else:
            if found and found[-1] + first in _CLUSTERS:
                found[-1] = _CLUSTERS[found[-1] + first]
            elif first != "ㅇ":
                found.append(first if found or first != "ㄹ" else "^ㄹ")
            found.append(vowel)
        if last:
            found.append(last + "$")
    return tuple(found)


class KoreanWord:
    """A Hangul word, prepared for comparison with many English words."""

    def __init__(self, korean: str) -> None:
        parts = sounds(korean)
        self.num_sounds = len(parts)
        self._spellings = [SPELLING_COSTS.get(sound) or SPELLING_COSTS.get(sound[0], {}) for sound in parts]
        least = [min(spellings.values(), default=_MISSING) for spellings in self._spellings]
        self._rest = [sum(least[position:]) for position in range(1, len(least) + 1)]
        self._lengths = range(math.ceil(0.6 * len(parts)) - 1, math.ceil(1.7 * len(parts)) + 3)
        consonants = _REPEATED.sub(r"\1", "".join(_CLASSES.get(sound, "") for sound in parts))
        firsts = {spelling[0] for spelling, cost in self._spellings[0].items() if spelling and cost < _RARE}
        self.keys = [first + consonants for first in sorted(firsts)]
        """Keys of English words that it may transliterate, as :func:`spelling_keys` gives them."""

    def spelling_cost(self, english: str, most: float) -> float | None:
        """Return the negative log-probability of an English spelling, or None if it is not below ``most``.

        It is that of the best segmentation of ``english`` into spellings of the word's jamo (Viterbi).
        """
        length = len(english)
        if length not in self._lengths:
            return None
        costs = {0: 0.0}
        for spellings, rest in zip(self._spellings, self._rest, strict=True):
            costs = _extend(costs, spellings, english, most - rest)
            if not costs:
                return None
        ends = [cost + _SILENT * (length - end) for end, cost in costs.items() if end <= length <= end + _MAX_SILENT]
        best = min(ends, default=most)
        # A few likely sounds may make up for unlikely ones by chance, so cost above the mean counts twice.
        best += max(0.0, best - _MAX_MEAN_COST * len(self._spellings))
        return best if best < most else None


def _extend(costs: Mapping[int, float], spellings: Mapping[str, float], english: str, most: float) -> dict[int, float]:
    """Return the least costs below ``most``, by position in ``english``, after one more sound."""
    reached: dict[int, float] = {}
    for start, before in costs.items():
        for spelling, cost in spellings.items():
            if english.startswith(spelling, start):
                end, after = start + len(spelling), before + cost
                if after < reached.get(end, most):
                    reached[end] = after
        if before + _MISSING < most:
            for skipped, cost in enumerate((_MISSING, _WRONG, _WRONG)):
                if before + cost < reached.get(start + skipped, most):
                    reached[start + skipped] = before + cost
    return reached


class LetterModel:
    """Bigram model of the letters of a vocabulary's words.

    ``costs`` are the negative log-probabilities of pairs of letters; ``^`` stands before the first one.
    """

    def __init__(self, costs: Mapping[str, float]) -> None:
        self.costs = costs

    @classmethod
    def of_words(cls, words: Iterable[str]) -> LetterModel:
        """Estimate the model from lower-case words of ASCII letters."""
        counts = {first + second: 0.5 for first in _LETTERS + "^" for second in _LETTERS}
        for word in words:
            for first, second in pairwise("^" + word):
                counts[first + second] += 1
        totals = {first: sum(counts[first + second] for second in _LETTERS) for first in _LETTERS + "^"}
        return cls({pair: math.log(totals[pair[0]] / count) for pair, count in counts.items()})

    def cost(self, word: str) -> float:
        """Return the negative log-probability of a lower-case word of ASCII letters."""
        return sum(self.costs[first + second] for first, second in pairwise("^" + word))


_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_CLASSES = {
    **dict.fromkeys(("ㄱ", "ㄲ"), "g"), **dict.fromkeys(("ㅋ", "ㄱ$", "ㅋ$"), "k"), **dict.fromkeys(("ㄷ", "ㄸ"), "d"),
    **dict.fromkeys(("ㅌ", "ㄷ$", "ㅅ$", "ㅌ$"), "t"), **dict.fromkeys(("ㅂ", "ㅃ"), "b"), "ㅊ": "c",
    **dict.fromkeys(("ㅍ", "ㅂ$", "ㅍ$"), "p"),
    **dict.fromkeys(("ㅅ", "ㅆ", *("ㅅ" + vowel for vowel in _PALATAL_VOWELS)), "s"),
    **dict.fromkeys(("ㅈ", "ㅉ"), "j"), **dict.fromkeys(("ㄴ", "ㄴ$", "ㅇ$"), "n"), **dict.fromkeys(("ㅁ", "ㅁ$"), "m"),
    "ㄹ": "r", "^ㄹ": "r", "ㄹㄹ": "l", "ㄹ$": "l", "ㄱㅅ": "ks",
}  # fmt: skip
_CONSONANTS: tuple[tuple[str, str], ...] = (
    ("tch", "c"), ("sch", "s sk"), ("ph", "p"), ("gh", "- g k"), ("ch", "c k s"), ("ck", "k"), ("sh", "s"),
    ("^ps", "s"), ("ps", "ps"), ("th", "s t d"), ("ng", "n ng nj"), ("^x", "j s"), ("x", "ks gj"), ("^wr", "r"),
    ("c(?=[eiy])", "s c"), ("cc(?=[eiy])", "ks c"), ("g(?=[eiy])", "j g k"), ("dg(?=e)", "j"),
    ("t(?=i[oa]|u)", "s t c"), ("^l", "r"), ("r(?=[aiouy])", "r"), ("^r", "r"), ("r", "- r l"),
    ("tz", "c t"), ("ts", "c t s"),
    ("^kn|^gn", "n"), ("gn", "n gn"), ("mb", "m mb"), ("d(?=u)", "d j"), ("qu", "k"),
    ("b+", "b p"), ("c+", "k"), ("d+", "d"), ("f+", "p"), ("g+", "g k"), ("j", "j"), ("k+", "k"), ("l+", "l r"),
    ("m+", "m"), ("n+", "n"), ("p+", "p"), ("q", "k"), ("s+", "s j"), ("t+", "t"), ("v+", "b p"), ("z+", "j s c"),
)  # fmt: skip
"""English spellings and the classes of their Korean consonants. The first match counts; ``^`` is the beginning of a
word.
"""
# No spelling begins with a vowel or h, so there the alternatives need not be tried one after the other.
_CONSONANT = re.compile("(?![aehiouy])(?:" + "|".join(f"({spelling})" for spelling, _ in _CONSONANTS) + ")")
_CLASSES_OF = [[("" if each == "-" else each) for each in classes.split()] for _, classes in _CONSONANTS]
_MAX_KEYS = 48


def spelling_keys(english: str) -> list[str]:
    """Return keys of a lower-case word of ASCII letters: its first letter and possible Korean consonants.

    An adjective of a country (Italian) also has the keys of the country (이탈리아).

    >>> spelling_keys("vintage")
    ['vbntg', 'vbntj', 'vbntk', 'vpntg', 'vpntj', 'vpntk']
    """
    codes = {""}
    for match in _CONSONANT.finditer(english):
        options = _CLASSES_OF[(match.lastindex or 1) - 1]
        codes = {code + option for code in codes for option in options}
        if len(codes) > _MAX_KEYS:
            return []
    if english.endswith("ian"):
        codes |= {code[:-1] for code in codes}
    unrepeated = _REPEATED.sub(r"\1", "\n".join(codes))  # at once, which takes less time than one after the other
    return sorted({english[0] + code for code in unrepeated.split("\n")})
