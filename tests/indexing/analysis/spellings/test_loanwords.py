"""Loanwords: one term in every spelling, alone, with a particle and in a compound, where they stand in the text."""

from __future__ import annotations

import pytest

from shrag.indexing.analysis.analyzer import Token
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer, analyzer_fingerprint
from shrag.indexing.analysis.spellings.loanwords import STANDARD_SPELLINGS
from shrag.indexing.analysis.user_dictionary import parse_dictionary


def test_every_spelling_alone_has_the_terms_of_the_standard_one(analyzer: KoreanEnglishAnalyzer) -> None:
    assert len(STANDARD_SPELLINGS) == 189
    others, standard = analyzer.terms(list(STANDARD_SPELLINGS)), analyzer.terms(list(STANDARD_SPELLINGS.values()))
    assert others == standard
    assert all(each in found for each, found in zip(STANDARD_SPELLINGS.values(), standard, strict=True))


def test_no_standard_spelling_has_another_one() -> None:
    assert not STANDARD_SPELLINGS.keys() & set(STANDARD_SPELLINGS.values())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("디지탈 컨텐츠의 추천", "디지털 콘텐츠의 추천"),
        ("데이타베이스를 설계한다", "데이터베이스를 설계한다"),
        ("유전알고리듬으로", "유전알고리즘으로"),
        ("알고리듬의 수렴", "알고리즘의 수렴"),
        ("파트너쉽을", "파트너십을"),
        ("메테인과 아이오딘", "메탄과 요오드"),
        ("(네트웍)", "(네트워크)"),
        ("딥런닝 기반", "딥러닝 기반"),
        ("컨벌루션 신경망", "컨볼루션 신경망"),
    ],
)
def test_a_loanword_has_its_terms_with_particles_and_in_compounds(
    analyzer: KoreanEnglishAnalyzer, one: str, other: str
) -> None:
    assert analyzer.terms([one]) == analyzer.terms([other])


def test_a_term_stands_where_its_word_does(analyzer: KoreanEnglishAnalyzer) -> None:
    assert analyzer.tokens(["새 네트웍은"])[0][-1] == Token("네트워크", 2, 5, "noun")
    assert analyzer.tokens(["인공지능로보트의"]) == [
        [
            Token("인공", 0, 2, "noun"),
            Token("인공지능로봇", 0, 7, "compound"),
            Token("지능", 2, 4, "noun"),
            Token("로봇", 4, 7, "noun"),
        ]
    ]


def test_a_word_of_the_users_dictionary_is_found_in_both_spellings() -> None:
    analyzer = KoreanEnglishAnalyzer(dictionary=parse_dictionary(["컨텐츠산업"], "words.txt"))
    assert analyzer.terms(["컨텐츠산업의"]) == analyzer.terms(["콘텐츠산업의"]) == [["콘텐츠산업"]]


def test_the_fingerprint_names_the_spellings(monkeypatch: pytest.MonkeyPatch) -> None:
    before = analyzer_fingerprint()
    monkeypatch.setitem(STANDARD_SPELLINGS, "샷시", "새시")
    assert analyzer_fingerprint() != before
