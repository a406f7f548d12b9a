"""Misread nouns: one term in every form, and no word in the list that Kiwi reads without it."""

from __future__ import annotations

import pytest

from shrag.indexing.analysis.analyzer import Token
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analysis.misread_nouns import MISREAD_NOUNS, misread_noun
from shrag.indexing.analysis.morphological_analysis import load_kiwi
from shrag.indexing.analysis.user_dictionary import parse_dictionary

NOUN_TAGS = {"NNG", "NNP", "XR"}


def test_every_misread_noun_is_a_term_where_it_stands_alone(analyzer: KoreanEnglishAnalyzer) -> None:
    words = sorted(MISREAD_NOUNS)
    assert len(words) == 476
    assert [word for word, terms in zip(words, analyzer.terms(words), strict=True) if word not in terms] == []


def test_kiwi_misreads_each_of_them_alone_or_with_a_particle() -> None:
    kiwi = load_kiwi()

    def is_read(noun: str, text: str) -> bool:
        return any(each.form == noun and each.tag in NOUN_TAGS for each in kiwi.tokenize(text))

    particles = "", "이", "가", "은", "는", "을", "를", "의", "에서", "와", "들의"
    assert [word for word in sorted(MISREAD_NOUNS) if all(is_read(word, word + each) for each in particles)] == []


@pytest.mark.parametrize(
    ("texts", "term"),
    [
        (("전이 학습", "전이학습", "전이를", "전이(transfer)를", "전이·확산"), "전이"),
        (("아이 교육", "아이의", "아이에게"), "아이"),
        (("토지 지가 예측", "공시지가", "지가의"), "지가"),
        (("자연어 처리", "자연어처리", "자연어를", "자연어로는"), "자연어"),
        (("이식 환자", "이식을", "간이식"), "이식"),
        (("비지도 학습", "비지도(unsupervised) 학습", "비지도를", "비지도의"), "비지도"),
        (("이직의도 연구", "이직의도", "이직의도가", "간호사의 의도"), "의도"),
        (("유사도 측정", "유사도를", "의미 유사도"), "유사도"),
        (("학습자 특성", "학습자들의", "학습자에게는"), "학습자"),
    ],
)
def test_a_noun_is_the_same_term_alone_with_a_particle_and_in_a_compound(
    analyzer: KoreanEnglishAnalyzer, texts: tuple[str, ...], term: str
) -> None:
    assert [text for text, terms in zip(texts, analyzer.terms(texts), strict=True) if term not in terms] == []


def test_a_noun_that_it_begins_with_stays_a_term_and_what_kiwi_misread_does_not(
    analyzer: KoreanEnglishAnalyzer,
) -> None:
    assert analyzer.tokens(["학습자는 (역산) 자연어"]) == [
        [
            Token("학습", 0, 2, "noun"),
            Token("학습자", 0, 3, "compound"),
            Token("역산", 6, 8, "noun"),
            Token("자연어", 10, 13, "noun"),
        ]
    ]


def test_a_noun_with_parts_of_its_own_is_divided_into_them(analyzer: KoreanEnglishAnalyzer) -> None:
    assert analyzer.terms(["비지도", "재방문의도", "스토리지"]) == [
        ["비지도", "지도"],
        ["재방문의도", "방문", "의도"],
        ["스토리지"],
    ]


@pytest.mark.parametrize(
    ("run", "noun"),
    [
        ("전이", "전이"),
        ("전이가", ""),  # with a particle Kiwi reads it well
        ("사전이", ""),
        ("이중", "이중"),
        ("이중으로", "이중"),
        ("이중주의", ""),
        ("이주자를", "이주자"),
        ("전공자들의", "전공자"),
        ("", ""),
    ],
)
def test_only_whole_runs_are_misread_nouns(run: str, noun: str) -> None:
    assert misread_noun(run) == noun


def test_words_whose_other_reading_is_common_are_not_in_the_list(analyzer: KoreanEnglishAnalyzer) -> None:
    assert analyzer.terms(["에 대한 연구를 통한 물의 순환"]) == [["대하", "연구", "통하", "물", "순환"]]


def test_a_word_of_the_users_dictionary_is_read_as_the_user_wants_it() -> None:
    analyzer = KoreanEnglishAnalyzer(dictionary=parse_dictionary(["학습자\tNNP"], "words.txt"))
    assert analyzer.terms(["학습자 학습자를"]) == [["학습자", "학습자"]]
