from __future__ import annotations

import pytest

from shrag.indexing.glossary.spelling_variants import english_spellings


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
