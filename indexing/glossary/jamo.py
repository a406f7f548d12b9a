"""The letters (jamo) of Hangul syllables, by their code points (Unicode standard, section 3.12)."""

from __future__ import annotations

VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
"""The vowels of syllables, in their order."""

_FIRST = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
_LAST = ("", *"ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ")
_BASE = ord("가")
_SYLLABLES = len(_FIRST) * len(VOWELS) * len(_LAST)


def is_syllable(character: str) -> bool:
    """Return whether a character is a Hangul syllable."""
    return 0 <= ord(character) - _BASE < _SYLLABLES


def split_syllable(syllable: str) -> tuple[str, str, str]:
    """Return the first consonant, the vowel, and the last consonant, which may be empty, of a syllable.

    >>> split_syllable("한"), split_syllable("이")
    (('ㅎ', 'ㅏ', 'ㄴ'), ('ㅇ', 'ㅣ', ''))
    """
    rest, last = divmod(ord(syllable) - _BASE, len(_LAST))
    first, vowel = divmod(rest, len(VOWELS))
    return _FIRST[first], VOWELS[vowel], _LAST[last]
