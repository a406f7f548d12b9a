from __future__ import annotations

import unicodedata

from shrag.evaluation.answers.units import characters, morphemes, words
from shrag.indexing.korean import KoreanMorphemes


def test_words_are_runs_of_letters_and_digits() -> None:
    assert words("Deep-learning's 3.5 models!") == ["deep", "learning", "s", "3", "5", "models"]
    assert words("Kiwi는 snake_case") == ["kiwi", "는", "snake", "case"]
    assert words("") == words("...") == []


def test_characters_are_syllables_and_spacing_is_no_difference() -> None:
    assert characters("한글 A1.") == characters("한 글a1") == ["한", "글", "a", "1"]
    assert characters(unicodedata.normalize("NFD", "한글")) == ["한", "글"]


def test_morphemes_are_kiwis_with_particles_and_without_punctuation() -> None:
    split = KoreanMorphemes().split
    assert morphemes("모델은 문서를 찾았다.", split) == ["모델", "은", "문서", "를", "찾", "었", "다"]
    assert morphemes("GPT-4의 β를", split) == ["gpt", "4", "의", "β", "를"]
    assert morphemes("", split) == []
