from __future__ import annotations

import pytest

from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.glossary.store import Entry, Synonym
from shrag.indexing.translation.query_translation import translate_query
from tests.support.entries_lexicon import EntriesLexicon


def _synonym(
    word: str, terms: str, synonym: str, synonym_terms: str, records: int = 9, word_records: int = 0
) -> Synonym:
    return Synonym(word, tuple(terms.split()), synonym, tuple(synonym_terms.split()), records, word_records)


LEXICON = EntriesLexicon(
    [
        Entry("재택근무", "telecommuting", ("재택근무",), ("telecommut",), 9, "general", 0.9),
        Entry("심근경색", "myocardial infarction", ("심근경색",), ("myocardi", "infarct"), 9, "general", 0.8),
        Entry("대면", "face to face", ("대면",), ("face", "face"), 9, "general", 0.8),
    ],
    [
        _synonym("telework", "telework", "telecommuting", "telecommut"),
        _synonym("telework", "telework", "remote work", "remot work", 5),
        _synonym("telework", "telework", "work from home", "work home", 2),
        _synonym("heart attack", "heart attack", "myocardial infarction", "myocardi infarct"),
        _synonym("attack", "attack", "assault", "assault"),
        _synonym("대면", "대면", "면대면", "면 대면"),
        _synonym("비대면", "비대면", "언택트", "언택트"),
        _synonym("stature", "statur", "height", "height", 0),
        _synonym("film", "film", "movie", "movi", 9, 9),
        _synonym("kayak", "kayak", "canoe", "cano", 1),
        _synonym("movie", "movi", "motion picture", "motion pictur", 8, 9),
    ],
)


def _ways(analyzer: KoreanEnglishAnalyzer, question: str) -> list[list[tuple[str, float, float]]]:
    (tokens,) = analyzer.tokens([question])
    return [
        [(each.text, each.share, round(each.confidence, 3)) for each in segment.translations]
        for segment in translate_query(tokens, LEXICON, text=question)
    ]


def test_a_word_has_the_two_synonyms_of_most_records_and_their_translations(analyzer: KoreanEnglishAnalyzer) -> None:
    assert _ways(analyzer, "telework") == [
        [("telecommuting", 1.0, 0.3), ("remote work", 1.0, 0.3), ("재택근무", 1.0, 0.27)]
    ]


def test_the_longest_phrase_has_synonyms_and_its_words_share_them(analyzer: KoreanEnglishAnalyzer) -> None:
    both = [("myocardial infarction", 0.5, 0.3), ("심근경색", 0.5, 0.24)]
    assert _ways(analyzer, "heart attack") == [both, both]
    assert _ways(analyzer, "attack of the heart") == [[("assault", 1.0, 0.3)], []]


@pytest.mark.parametrize("question", ["heart and attack", "heart, attack"])
def test_words_with_a_separator_between_them_are_no_phrase(analyzer: KoreanEnglishAnalyzer, question: str) -> None:
    assert _ways(analyzer, question) == [[], [("assault", 1.0, 0.3)]]


def test_a_phrase_before_a_separator_has_synonyms_as_the_word_behind_it_has(analyzer: KoreanEnglishAnalyzer) -> None:
    both = [("myocardial infarction", 0.5, 0.3), ("심근경색", 0.5, 0.24)]
    assert _ways(analyzer, "heart attack, film") == [both, both, [("movie", 1.0, 0.3)]]


def test_a_synonym_that_is_in_one_record_is_used(analyzer: KoreanEnglishAnalyzer) -> None:
    assert _ways(analyzer, "kayak") == [[("canoe", 1.0, 0.3)]]


def test_a_word_with_a_prefix_has_no_synonym_of_the_word_without_it(analyzer: KoreanEnglishAnalyzer) -> None:
    assert not [way for ways in _ways(analyzer, "비대면") for way in ways if way[0] == "면대면"]


def test_a_word_with_a_prefix_has_its_own_synonyms(analyzer: KoreanEnglishAnalyzer) -> None:
    assert _ways(analyzer, "비대면") == [[("언택트", 1.0, 0.3)]]
    assert not [way for ways in _ways(analyzer, "대면") for way in ways if way[0] == "언택트"]


def test_a_synonym_that_no_record_has_is_used_for_its_translations_only(analyzer: KoreanEnglishAnalyzer) -> None:
    assert _ways(analyzer, "stature") == [[]]
    through = EntriesLexicon([Entry("키", "height", ("키",), ("height",), 9, "general", 0.8)], LEXICON.listed)
    (tokens,) = analyzer.tokens(["stature"])
    (segment,) = translate_query(tokens, through, text="stature")
    assert [each.text for each in segment.translations] == ["키"]


def test_a_synonym_that_is_rarer_than_the_word_is_not_used(analyzer: KoreanEnglishAnalyzer) -> None:
    assert _ways(analyzer, "film") == [[("movie", 1.0, 0.3)]]
    assert _ways(analyzer, "movie") == [[]]
