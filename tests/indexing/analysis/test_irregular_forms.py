"""Irregular forms: both have one term, and none is in the list that Porter's stemmer brings together."""

from __future__ import annotations

import pytest
import Stemmer

from shrag.indexing.analysis.irregular_forms import IRREGULAR_FORMS
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analysis.latin import STEMMER, stem_words


def test_each_form_has_the_stem_of_the_other() -> None:
    assert len(IRREGULAR_FORMS) == 88
    assert stem_words(IRREGULAR_FORMS) == stem_words(IRREGULAR_FORMS.values())


def test_porters_stemmer_alone_tells_them_apart() -> None:
    stem = Stemmer.Stemmer(STEMMER).stemWord
    assert [form for form, other in IRREGULAR_FORMS.items() if stem(form) == stem(other)] == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The Fourth Industrial Revolution", "the 4th industrial revolution"),
        ("Fifth graders' children", "5th graders' child"),
        ("Local Minima of Matrices", "local minimum of a matrix"),
        ("analyses of Women", "analysis of a woman"),
    ],
)
def test_texts_that_differ_by_them_alone_have_the_same_terms(
    analyzer: KoreanEnglishAnalyzer, one: str, other: str
) -> None:
    assert analyzer.terms([one]) == analyzer.terms([other])


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("first and second", ["first", "second"]),
        ("21st 2nd", ["21st", "2nd"]),  # the ending of an ordinal is no term
        ("media data leaves", ["media", "data", "leav"]),
        ("WOMEN", ["woman"]),
    ],
)
def test_ordinals_and_words_that_are_their_own_stay(
    analyzer: KoreanEnglishAnalyzer, text: str, terms: list[str]
) -> None:
    assert analyzer.terms([text]) == [terms]
