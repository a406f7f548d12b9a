"""Added nouns: one term alone, with particles and in compounds, and none that Kiwi would read everywhere without it."""

from __future__ import annotations

import pytest
from kiwipiepy import Kiwi

from shrag.indexing.analysis.added_nouns import ADDED_NOUNS
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analysis.spellings.loanwords import with_standard_spellings

FORMS = "{}", "{}의", "{}에서", "{}기반", "{}시스템", "{}벡터", "신규{}", "다중{}"


def test_every_added_noun_is_a_term_alone_with_particles_and_in_compounds(analyzer: KoreanEnglishAnalyzer) -> None:
    assert len(ADDED_NOUNS) == 157
    missing = [
        form.format(noun)
        for noun in sorted(ADDED_NOUNS)
        for form in FORMS
        if noun not in analyzer.terms([form.format(noun)])[0]
    ]
    assert missing == []


def test_without_them_kiwi_reads_each_otherwise_in_some_form() -> None:
    kiwi = Kiwi(num_workers=1, load_default_dict=False, load_multi_dict=False)

    def is_read(noun: str, text: str) -> bool:
        return any(each.form == noun and each.tag in {"NNG", "NNP"} for each in kiwi.tokenize(text))

    assert [noun for noun in sorted(ADDED_NOUNS) if all(is_read(noun, form.format(noun)) for form in FORMS)] == []


def test_no_added_noun_is_spelt_in_another_way() -> None:
    assert [noun for noun in ADDED_NOUNS if with_standard_spellings(noun) != noun] == []


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("데이터마이닝을", ["데이터", "마이닝"]),
        ("워드임베딩", ["워드", "임베딩"]),
        ("서포트벡터머신을", ["서포트", "벡터", "머신"]),
        ("시맨틱웹", ["시맨틱", "웹"]),
        ("프레임워크를", ["프레임워크"]),
        ("이해시키는", ["이해"]),
    ],
)
def test_a_compound_has_the_nouns_that_people_read_in_it(
    analyzer: KoreanEnglishAnalyzer, text: str, terms: list[str]
) -> None:
    assert [token.term for token in analyzer.tokens([text])[0] if token.kind == "noun"] == terms
