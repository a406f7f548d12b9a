from __future__ import annotations

import pytest

from shrag.indexing.glossary.spelling_variants import english_spellings, korean_spellings


@pytest.mark.parametrize(
    ("american", "british"),
    [
        ("optimization", "optimisation"),
        ("consumer behavior", "consumer behaviour"),
        ("fiber center", "fibre centre"),
        ("patient-centered", "patient-centred"),
        ("modeling", "modelling"),
        ("hemoglobin", "haemoglobin"),
        ("water vapor", "water vapour"),
    ],
)
def test_american_spellings_have_a_british_variant(american: str, british: str) -> None:
    assert english_spellings(american) == (american, british)


@pytest.mark.parametrize("word", ["size", "prize", "factor", "operator", "parameter", "filter", "chemistry", "forum"])
def test_other_words_have_none(word: str) -> None:
    assert english_spellings(word) == (word,)


def test_loanwords_have_their_other_spelling() -> None:
    assert korean_spellings("콘텐츠 산업") == ("콘텐츠 산업", "컨텐츠 산업")
    assert korean_spellings("컨텐츠 산업") == ("컨텐츠 산업", "콘텐츠 산업")
    assert korean_spellings("교육") == ("교육",)
