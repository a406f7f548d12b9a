from __future__ import annotations

import pytest

from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.glossary.store import Entry
from shrag.indexing.translation.phrase_translation import PhraseTranslation
from shrag.indexing.translation.query_translation import translate_query
from tests.support.entries_lexicon import EntriesLexicon


def _entry(korean: str, english: str, korean_terms: str, english_terms: str, score: float = 1.0) -> Entry:
    return Entry(korean, english, tuple(korean_terms.split()), tuple(english_terms.split()), 9, "general", score)


LEXICON = EntriesLexicon(
    [
        _entry("인공지능", "AI", "인공 지능", "ai"),
        _entry("인공지능", "artificial intelligence", "인공 지능", "artifici intellig", 0.95),
        _entry("기상", "weather", "기상", "weather", 0.9),
        _entry("날씨", "weather", "날씨", "weather", 0.9),
        _entry("일기", "weather", "일기", "weather", 0.88),
        _entry("토양", "soil", "토양", "soil", 0.9),
        _entry("흙", "soil", "흙", "soil", 0.88),
        _entry("신경망", "neural network", "신경망", "neural network"),
        _entry("뉴럴 네트워크", "neural network", "뉴럴 네트워크", "neural network"),
        _entry("비지도", "unsupervised", "지도", "unsupervis"),
        _entry("지도", "map", "지도", "map"),
        _entry("기계 학습", "learning", "기계 학습", "learn"),
        _entry("학습", "learning", "학습", "learn"),
    ]
)


def _ways(analyzer: KoreanEnglishAnalyzer, word: str) -> list[tuple[str, ...]]:
    (tokens,) = analyzer.tokens([word])
    return [tuple(each.text for each in segment.translations) for segment in translate_query(tokens, LEXICON)]


def test_a_word_has_its_surest_synonym_in_its_own_language_behind_its_translations(
    analyzer: KoreanEnglishAnalyzer,
) -> None:
    assert _ways(analyzer, "AI") == [("인공지능", "artificial intelligence")]
    assert _ways(analyzer, "날씨") == [("weather", "기상")]
    assert _ways(analyzer, "기상") == [("weather", "날씨")]


def test_a_synonym_counts_less_than_a_translation(analyzer: KoreanEnglishAnalyzer) -> None:
    (tokens,) = analyzer.tokens(["날씨"])
    (segment,) = translate_query(tokens, LEXICON)
    translation, synonym = segment.translations
    assert translation == PhraseTranslation("weather", ("weather",), 1.0, 0.9)
    assert synonym[:3] == ("기상", ("기상",), 1.0)
    assert synonym.confidence == pytest.approx(0.9 * 0.9 * 0.3)


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("토양", "0.9 times 0.88 is less than 0.8"),
        ("neural network", "phrases have none"),
        ("unsupervised", "지도 of 비지도 is another word than 지도"),
        ("학습", "what has the word itself is found by it"),
    ],
)
def test_no_synonym_is_added(analyzer: KoreanEnglishAnalyzer, word: str, why: str) -> None:
    translations = {"토양": "soil", "unsupervised": "비지도", "학습": "learning"}
    for ways in _ways(analyzer, word):
        assert ways in {(translations.get(word),), ("신경망", "뉴럴 네트워크")}, why


def test_the_least_confidence_is_that_of_two_first_translations(analyzer: KoreanEnglishAnalyzer) -> None:
    lexicon = EntriesLexicon([_entry("토양", "soil", "토양", "soil", 0.9), _entry("흙", "soil", "흙", "soil", 0.89)])
    (tokens,) = analyzer.tokens(["토양"])
    assert [each.text for each in translate_query(tokens, lexicon)[0].translations] == ["soil", "흙"]


@pytest.mark.parametrize(("through", "found"), [("car", True), ("automobile", True), ("vehicle", False)])
def test_only_the_two_surest_translations_lead_to_a_synonym(
    analyzer: KoreanEnglishAnalyzer, through: str, found: bool
) -> None:
    translations = {"car": 1.0, "automobile": 0.99, "vehicle": 0.98}
    entries = [_entry("자동차", english, "자동차", english, score) for english, score in translations.items()]
    lexicon = EntriesLexicon([*entries, _entry("승용차", through, "승용차", through)])
    (tokens,) = analyzer.tokens(["자동차"])
    assert [each.text for each in translate_query(tokens, lexicon)[0].translations] == [
        *translations,
        *["승용차"] * found,
    ]
