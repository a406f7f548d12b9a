"""Transliteration distance between Korean and English words, to find loanwords.

A weighted edit distance aligns the letters (jamo) of the Korean word with the English spelling. A jamo matches each of
the spellings in its row of the table for free. Vowels that Korean inserts (ㅡ in 스트, ㅣ in 리지) and silent English
letters cost little. The tables were made for this project.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache

from shrag.indexing.glossary.jamo import VOWELS, is_syllable, split_syllable

_SPELLINGS: dict[str, tuple[str, ...]] = {
    letter: tuple(spellings.split())
    for letter, spellings in {
        "ㄱ": "g gg gh gu",
        "ㄲ": "c k g",
        "ㄴ": "n nn kn gn",
        "ㄷ": "d dd th",
        "ㄸ": "d th",
        "ㄹ": "l ll r rr rh wr",
        "ㅁ": "m mm mb mn",
        "ㅂ": "b bb v",
        "ㅃ": "b",
        "ㅅ": "s ss c sc th ps sh x z st sw",
        "ㅆ": "s th ss",
        "ㅈ": "j g z s ge dg d dge",
        "ㅉ": "j z",
        "ㅊ": "ch t tch ti c",
        "ㅋ": "k c ck ch q cc qu x kh",
        "ㅌ": "t tt th pt",
        "ㅍ": "p pp f ff ph",
        "ㅎ": "h wh f",
        "ㄱ$": "k c ck g ch q x gh",
        "ㄴ$": "n nn ne gn kn",
        "ㄷ$": "d t",
        "ㄹ$": "l ll le el al r rl",
        "ㅁ$": "m mm mb me mn",
        "ㅂ$": "p b pp pe be",
        "ㅅ$": "t s th tt te d c ss ts",
        "ㅇ$": "ng n nc",
        "ㅎ$": "h",
        "ㅏ": "a u o ar ah au al ou e i er",
        "ㅐ": "a e ai ae",
        "ㅑ": "ia ya a ja",
        "ㅒ": "ya",
        "ㅓ": "er o u or ur e a ir ou ar eo i re our ure",
        "ㅔ": "e a ai ay ei ea ae ie air are",
        "ㅕ": "you yu io ia yo young e",
        "ㅖ": "ye e",
        "ㅗ": "o oa ow au aw or ore oo ou oe al a ough ro",
        "ㅘ": "wa ua oi oa qua",
        "ㅙ": "we",
        "ㅚ": "oe oi",
        "ㅛ": "yo io eo",
        "ㅜ": "u oo ou w wo ew o ue ui oul eu",
        "ㅝ": "wo wa ua wor",
        "ㅞ": "we wa ue whe ua",
        "ㅟ": "wi we ui whi",
        "ㅠ": "u ew eu you ue iu y eau",
        "ㅡ": "e u o",
        "ㅢ": "ui",
        "ㅣ": "i e ee ea y ie ey ei ia ae eo oe",
    }.items()
}
"""Jamo (``$`` marks the final consonant of a syllable) → its English spellings."""
# Vowels that Korean inserts after a consonant.
_ADDED = {"ㅡ": 0.05, "ㅣ": 0.3, "ㅓ": 0.35, "ㅜ": 0.35}
_SILENT = {
    "e": 0.15,
    "r": 0.1,
    "h": 0.15,
    "w": 0.3,
    "g": 0.4,
    "u": 0.3,
    "s": 0.6,
    "t": 0.45,
    "d": 0.5,
    "y": 0.4,
    "i": 0.4,
    "o": 0.4,
    "a": 0.4,
}
_VOWEL_MISMATCH = 0.45
_MISMATCH = 1.0
_VOWEL_LETTERS = frozenset("aeiouyw")


def transliteration_distance(korean: str, english: str, most: float = 1.0) -> float:
    """Return the edit cost per letter of the longer word; 0 for a perfect transliteration.

    Args:
        korean: A Hangul word.
        english: A lower-case word.
        most: Upper bound. A larger distance is returned as 1, which takes less time.

    >>> transliteration_distance("트랜스포머", "transformer") < 0.05
    True
    >>> transliteration_distance("신경망", "network") > 0.3
    True
    """
    jamo = _jamo(korean)
    if not jamo or not english.isascii() or not english.isalpha():
        return 1.0
    longer = max(len(jamo), len(english))
    cost = _least_cost(jamo, english, most * longer)
    return 1.0 if cost is None else cost / longer


@lru_cache(maxsize=20_000)
def _jamo(korean: str) -> tuple[str, ...]:
    """Return a Hangul word's jamo, with ``$`` after final consonants; none if a character is not a syllable."""
    if not all(map(is_syllable, korean)):
        return ()
    jamo: list[str] = []
    for syllable in korean:
        first, vowel, last = split_syllable(syllable)
        if first == "ㄹ" and jamo and jamo[-1] == "ㄹ$":
            jamo.pop()  # ㄹㄹ is a single l in English: 클러, clu
        if first != "ㅇ":
            jamo.append(first)
        jamo.append(vowel)
        if last:
            jamo.append(last + "$")
    return tuple(jamo)


def _least_cost(jamo: tuple[str, ...], english: str, most: float) -> float | None:
    """Return the least edit cost between jamo and letters, or None where it is over ``most``.

    Dynamic programming: ``costs[j]`` is the least cost of the jamo so far and the first j letters. Costs over ``most``
    are left out.
    """
    silent = [_SILENT.get(letter, 0.9) for letter in english]
    costs = {0: 0.0}
    _skip_letters(costs, 0, silent, most)
    for letter in jamo:
        spellings = _SPELLINGS.get(letter) or _SPELLINGS.get(letter[0], ())
        wrong_vowel = _VOWEL_MISMATCH if letter in VOWELS else _MISMATCH
        added = _ADDED.get(letter, 0.8)
        reached: dict[int, float] = {}
        for start, before in costs.items():
            for spelling in spellings:
                if english.startswith(spelling, start):
                    _reach(reached, start + len(spelling), before, most)
            _reach(reached, start, before + added, most)
            if start < len(english):
                mismatch = wrong_vowel if english[start] in _VOWEL_LETTERS else _MISMATCH
                _reach(reached, start + 1, before + mismatch, most)
        if not reached:
            return None
        _skip_letters(reached, min(reached), silent, most)
        costs = reached
    return costs.get(len(english))


def _reach(costs: dict[int, float], position: int, cost: float, most: float) -> None:
    if cost <= most and cost < costs.get(position, math.inf):
        costs[position] = cost


def _skip_letters(costs: dict[int, float], start: int, silent: Sequence[float], most: float) -> None:
    """Extend the costs from position ``start`` on by letters that have no sound."""
    for position in range(start, len(silent)):
        if position in costs:
            _reach(costs, position + 1, costs[position] + silent[position], most)


_KEY = {
    **dict.fromkeys("ㄱㄲㅋ", "K"), **dict.fromkeys("ㄷㄸㅌ", "T"), **dict.fromkeys("ㅂㅃㅍ", "P"),
    **dict.fromkeys("ㅅㅆㅈㅉㅊ", "S"), "ㄴ": "N", "ㅁ": "M", "ㄹ": "R",
}  # fmt: skip


def consonant_key(korean: str) -> str:
    """Return a key of the word's consonant classes, without ㅎ, to find candidates fast."""
    key: list[str] = []
    for letter in _jamo(korean):
        if letter in VOWELS:
            continue
        coarse = {"ㅇ$": "N", "ㅅ$": "T"}.get(letter) or _KEY.get(letter[0], "")
        if coarse:
            key.append(coarse)
    return "".join(key)


def starts_with_vowel(korean: str) -> bool:
    """Return whether a Hangul word begins with a vowel sound."""
    return is_syllable(korean[0]) and split_syllable(korean[0])[0] == "ㅇ"


def possible_vowel_starts(english: str) -> tuple[bool, ...]:
    """Return the values that :func:`starts_with_vowel` may have for transliterations of a lower-case word."""
    if english[0] in "hwy":
        return (True, False)
    return (english[0] in _VOWEL_LETTERS,)


def english_consonant_keys(english: str) -> set[str]:
    """Return the :func:`consonant_key` values of possible transliterations of a lower-case word.

    The set is empty for other words, and for words with too many values.
    """
    if not _WORD.fullmatch(english):
        return set()
    keys = {""}
    position = 0
    while position < len(english):
        length, options = _read_consonant(english, position)
        keys = {key + option for key in keys for option in options}
        if len(keys) > _MAX_KEYS:
            return set()
        position += length
    return keys


_MAX_KEYS = 64
_WORD = re.compile("[a-z]+")


_CONSONANTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("ph", ("P",)),
    ("gh", ("", "K")),
    ("ch", ("S", "K")),
    ("ck", ("K",)),
    ("sh", ("S",)),
    ("ps", ("S", "PS")),
    ("th", ("S", "T")),
    ("ng", ("N", "NK", "NS")),
    ("x", ("KS", "S")),
    ("c(?=[eiy])", ("S",)),
    ("g(?=[eiy])", ("S", "K")),
    ("t(?=i[oa]|ur)", ("S", "T")),
    ("d(?=[gu])", ("", "S", "T")),
    (r"r(?=[aeiouy])(?!e\Z|ew)", ("R",)),
    ("r", ("", "R")),  # may be silent, except before a vowel other than a final e (software)
    ("ts", ("S", "TS")),
)
"""English spellings and their consonant classes. The first match counts; :func:`_consonant_class` has the other
letters.
"""

_CONSONANT = re.compile("|".join(f"({spelling})" for spelling, _ in _CONSONANTS))


def _read_consonant(word: str, position: int) -> tuple[int, tuple[str, ...]]:
    """Return the length of the spelling at ``position`` and its possible classes."""
    letter = word[position]
    if word.startswith(letter, position + 1) and letter not in _VOWEL_LETTERS:
        return 2, _consonant_class(letter)
    found = _CONSONANT.match(word, position)
    if found is None or found.lastindex is None:
        return 1, _consonant_class(letter)
    return found.end() - position, _CONSONANTS[found.lastindex - 1][1]


def _consonant_class(letter: str) -> tuple[str, ...]:
    if letter in "aeiouywh":
        return ("",)
    return ({"b": "P", "p": "P", "f": "P", "v": "P", "d": "T", "t": "T", "k": "K", "g": "K", "c": "K", "q": "K",
             "s": "S", "z": "S", "j": "S", "l": "R", "r": "R", "m": "M", "n": "N", "x": "KS"}[letter],)  # fmt: skip


# All common readings of Chinese characters. A word with another syllable is native Korean or a loanword.
_SINO_KOREAN = frozenset(
    "가각간갈감갑강개객갱갹거건걸검겁게격견결겸경계고곡곤골공과곽관괄광괘괴굉교구국군굴궁권궐궤귀규균귤극근글금급긍기긴길김끽"
    "나낙난날남납낭내냉녀년념녕노농뇌뇨누눈눌뉴니닉다단달담답당대댁덕도독돈돌동두둔득등라락란랄람랍랑래랭략량려력련렬렴렵령례로록론롱"
    "뢰료룡루류륙륜률륭륵름릉리린림립마막만말망매맥맹면멸명모목몰몽묘무묵문물미민밀박반발방배백번벌범법벽변별병보복본봉부북분불붕비빈빙"
    "사삭산살삼삽상새색생서석선설섬섭성세소속손송쇄쇠수숙순술숭슬습승시식신실심십쌍씨아악안알암압앙애액앵야약양어억언얼엄업여역연열염엽영예"
    "오옥온올옹와완왈왕왜외요욕용우욱운울웅원월위유육윤율융은을음읍응의이익인일임입잉자작잔잠잡장재쟁저적전절점접정제조족존졸종좌죄주죽준중"
    "즉즐증지직진질짐집징차착찬찰참창채책처척천철첨첩청체초촉촌총촬최추축춘출충췌취측층치칙친칠침칩칭쾌타탁탄탈탐탑탕태택토통퇴투특틈"
    "파판팔패팽편폄평폐포폭표품풍피필핍하학한할함합항해핵행향허헌헐험혁현혈혐협형혜호혹혼홀홍화확환활황회획횡효후훈훤훼휘휴흉흑흔흘흠흡흥희"
)


def may_be_loanword(korean: str) -> bool:
    """Return whether the word has a syllable that is no reading of a Chinese character, as most loanwords have."""
    return any(syllable not in _SINO_KOREAN for syllable in korean)
