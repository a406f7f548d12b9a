from __future__ import annotations

import re
from pathlib import Path

import pytest

import shrag.indexing.glossary.vocabulary as module
from headwords import headwords, headwords_file
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analysis.user_dictionary import DictionaryWord, UserDictionary
from shrag.indexing.glossary.vocabulary import (
    HEADWORDS,
    VocabularyTerm,
    headword_forms,
    read_vocabulary,
    stored_forms,
)

FILES = sorted((Path(module.__file__).parent / "terms").glob("*.tsv"))
_KOREAN_LINE = re.compile(r"[^\t]*[\uac00-\ud7a3][^\t]*\t[^\t\uac00-\ud7a3]+")
_ENGLISH_LINE = re.compile(r"[^\t\uac00-\ud7a3]+\t([^\t,]*[\uac00-\ud7a3][^\t,]*)(, [^\t,]*[\uac00-\ud7a3][^\t,]*)*")


def test_there_are_a_file_per_discipline_and_two_of_frequent_words() -> None:
    assert [path.stem for path in FILES] == [
        "academic", "agriculture", "arts", "computing", "economics", "education", "engineering", "frequent_english",
        "frequent_korean", "general", "humanities", "law", "medicine", "natural_sciences", "social_sciences",
    ]  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_line_is_a_headword_with_distinct_translations(path: Path) -> None:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    headwords = [line.partition("\t")[0] for line in lines]
    assert len(set(headwords)) == len(headwords)
    for line in lines:
        translations = line.partition("\t")[2].split(", ")
        assert (_ENGLISH_LINE if path.stem == "frequent_english" else _KOREAN_LINE).fullmatch(line), line
        assert len(set(translations)) == len(translations), line
        assert all(text == text.strip() and text and "," not in text for text in translations), line


def test_a_pair_of_several_files_is_listed_once_with_its_highest_confidence() -> None:
    terms = read_vocabulary()
    assert len(terms) > 25_000
    assert len({(term.korean, term.english) for term in terms}) == len(terms)
    assert VocabularyTerm("장기", "long-term", 0.95) in terms
    assert VocabularyTerm("장기", "organ", 0.85) in terms


def test_ambiguous_terms_are_less_confident() -> None:
    confidence = {(term.korean, term.english): term.confidence for term in read_vocabulary()}
    assert confidence["뇌", "brain"] == pytest.approx(0.76)
    assert confidence["구조방정식모형", "SEM"] == pytest.approx(0.6)


def test_a_headword_has_the_terms_that_it_has_alone_and_before_a_particle(analyzer: KoreanEnglishAnalyzer) -> None:
    assert headword_forms(analyzer, "분해") == [(("분해",), True)]
    assert headword_forms(analyzer, "각주") == [(("각주",), True)]  # alone, Kiwi finds 주 only
    assert headword_forms(analyzer, "밤하늘") == [(("밤", "하늘"), True), (("밤하늘",), True)]
    assert headword_forms(analyzer, "침묵의 나선") == [(("침묵", "나선"), True)]


def test_terms_without_an_affix_are_used_if_it_is_never_indexed(analyzer: KoreanEnglishAnalyzer) -> None:
    assert headword_forms(analyzer, "활성화") == [(("활성",), False)]
    assert headword_forms(analyzer, "비교군") == [(("비교", "군"), True)]
    assert headword_forms(analyzer, "거꾸로 교실") == []


def test_an_english_headword_has_one_form_complete_if_no_stop_word_matters(analyzer: KoreanEnglishAnalyzer) -> None:
    assert headword_forms(analyzer, "abuse of the elderly") == [(("abus", "elder"), True)]
    assert headword_forms(analyzer, "long-term") == [(("long", "term"), True)]
    assert headword_forms(analyzer, "vitamin A") == [(("vitamin",), False)]
    assert headword_forms(analyzer, "after surgery") == [(("surgeri",), False)]
    assert headword_forms(analyzer, "from the") == []
    assert headword_forms(analyzer, "one two three four five six seven eight nine") == []


def test_the_stored_terms_are_those_that_the_analyzer_gives(analyzer: KoreanEnglishAnalyzer) -> None:
    stored = stored_forms(analyzer)
    assert list(stored) == headwords()
    every = 40  # `make soak` compares them all
    assert {word: stored[word] for word in headwords()[::every]} == {
        word: headword_forms(analyzer, word) for word in headwords()[::every]
    }


@pytest.mark.soak
def test_all_stored_terms_are_those_that_the_analyzer_gives() -> None:
    assert HEADWORDS.read_text(encoding="utf-8") == headwords_file()


def test_an_analyzer_with_words_of_the_user_has_no_stored_terms() -> None:
    assert stored_forms(KoreanEnglishAnalyzer(dictionary=UserDictionary((DictionaryWord("전이"),)))) == {}
