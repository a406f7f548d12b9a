from __future__ import annotations

import unicodedata

from shrag.indexing.glossary.jamo import VOWELS, is_syllable, split_syllable


def test_every_syllable_is_split_as_unicode_decomposes_it() -> None:
    syllables = [chr(code) for code in range(ord("가"), ord("힣") + 1)]
    assert all(map(is_syllable, syllables))
    for syllable in syllables:
        parts = [part for part in split_syllable(syllable) if part]
        # A decomposed syllable has conjoining jamo, whose names end like those of the letters.
        conjoining = unicodedata.normalize("NFD", syllable)
        assert [unicodedata.name(part).split()[-1] for part in parts] == [
            unicodedata.name(part).split()[-1] for part in conjoining
        ]
        assert split_syllable(syllable)[1] in VOWELS


def test_letters_and_characters_around_the_syllables_are_no_syllables() -> None:
    assert not any(map(is_syllable, ("ㄱ", "ㅏ", chr(ord("가") - 1), chr(ord("힣") + 1), "a", "漢")))
