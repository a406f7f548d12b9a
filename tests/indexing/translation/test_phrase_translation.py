from __future__ import annotations

import pytest

from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.glossary.store import Entry
from shrag.indexing.translation.phrase_translation import PhraseTranslation
from shrag.indexing.translation.query_translation import translate_query
from tests.support.entries_lexicon import EntriesLexicon

LEXICON = EntriesLexicon(
    [
        Entry("인공 신경망", "neural network", ("인공", "신경망"), ("neural", "network"), 9, "parenthetical", 1.0),
        Entry("신경망", "network", ("신경망",), ("network",), 2, "alignment", 0.5),
        Entry("연구개발", "research and development", ("연구", "개발"), ("research", "develop"), 9, "general", 1.0),
        Entry("우유", "milk", ("우유",), ("milk",), 40, "parenthetical", 1.0),
        Entry("우유", "dairy", ("우유",), ("dairi",), 1, "parenthetical", 0.6),
        Entry("하천", "river", ("하천",), ("river",), 50, "parenthetical", 1.0),
        Entry("하천", "stream", ("하천",), ("stream",), 4, "parenthetical", 0.6),
        Entry("하천", "rill", ("하천",), ("rill",), 3, "parenthetical", 0.6),
        *[
            Entry("배", word, ("배",), (word,), 9, "parenthetical", 1.0)
            for word in ("ship", "boat", "pear", "belly", "vessel")
        ],
        Entry("깊은", "deep", ("깊은",), ("deep",), 9, "parenthetical", 1.0),
        Entry(
            "대형 선박 가격 지수",
            "big ship price index",
            ("대형", "선박", "가격", "지수"),
            ("big", "ship", "price", "index"),
            1,
            "general",
            0.8,
        ),
        Entry("선가", "ship price", ("선가",), ("ship", "price"), 1, "general", 0.9),
        *[
            Entry(word, "ship", (word,), ("ship",), 9, "general", score)
            for word, score in (("함선", 0.9), ("군함", 0.8))
        ],
        Entry("깊은", "deep lake", ("깊은",), ("deep", "lake"), 1, "general", 0.9),
        Entry("매우 깊은", "very deep", ("매우", "깊은"), ("veri", "deep"), 9, "parenthetical", 1.0),
        Entry("밀크셰이크", "milkshake", ("밀크셰이크",), ("milkshak",), 0, "transliteration", 0.8),
    ]
)


def _way(translation: PhraseTranslation) -> tuple[str, float, float]:
    return translation.text, translation.share, round(translation.confidence, 3)


def _carried(analyzer: KoreanEnglishAnalyzer, question: str) -> list[tuple[tuple[str, ...], list[tuple[str, float]]]]:
    (tokens,) = analyzer.tokens([question])
    return [
        (each.terms, [(way.text, way.share) for way in each.translations]) for each in translate_query(tokens, LEXICON)
    ]


def test_the_longest_phrase_is_carried_over_and_its_words_share_it(analyzer: KoreanEnglishAnalyzer) -> None:
    assert _carried(analyzer, "인공신경망과 신경망") == [
        (("인공",), [("neural network", 0.5)]),
        (("신경망",), [("neural network", 0.5), ("network", 1.0)]),
        (("신경망",), [("network", 1.0)]),
        (("인공신경망",), []),
    ]
    assert _carried(analyzer, "neural networks") == [
        (("neural",), [("인공 신경망", 0.5)]),
        (("network",), [("인공 신경망", 0.5), ("신경망", 1.0)]),
    ]


PREFIXED = EntriesLexicon(
    [
        Entry(korean, english, terms, (english,), 9, "general", 1.0)
        for korean, english, terms in (
            ("대면", "face-to-face", ("대면",)),
            ("비대면", "non-face-to-face", ("대면",)),
            ("지도 학습", "supervised", ("지도", "학습")),
            ("비지도 학습", "unsupervised", ("지도", "학습")),
            ("관심", "interest", ("관심",)),
            ("저출산", "low fertility", ("출산",)),
            ("성능", "performance", ("성능",)),
            ("대학교", "university", ("대학교",)),
            ("학교", "school", ("학교",)),
        )
    ]
)


@pytest.mark.parametrize(
    ("question", "translations"),
    [
        ("대면", [["face-to-face"]]),
        ("비대면", [["non-face-to-face"]]),
        ("지도학습", [["supervised"], ["supervised"], []]),
        ("비지도학습", [["unsupervised"], ["unsupervised"], []]),
        ("대학교의 비지도학습", [["university"], ["unsupervised"], ["unsupervised"], []]),
        # Nothing but what is negated would be found.
        ("무관심", [[]]),
        # The part of a word that has another meaning.
        ("출산", [[]]),
        ("고성능", [["performance"]]),
        ("대학교 신입생", [["university"], []]),
    ],
)
def test_a_word_with_a_prefix_is_not_translated_as_the_word_without_it(
    analyzer: KoreanEnglishAnalyzer, question: str, translations: list[list[str]]
) -> None:
    (tokens,) = analyzer.tokens([question])
    segments = translate_query(tokens, PREFIXED, text=question)
    assert [[each.text for each in segment.translations] for segment in segments] == translations


def test_the_parts_of_a_phrase_are_translated_too_by_two_each_and_with_less_confidence(
    analyzer: KoreanEnglishAnalyzer,
) -> None:
    (tokens,) = analyzer.tokens(["big ship price index"])
    big, ship, price, index = [each.translations for each in translate_query(tokens, LEXICON)]
    whole = ("대형 선박 가격 지수", 0.25, 0.8)
    assert [_way(each) for each in big] == [whole]
    # Of the four translations of ship, and what is in a part of a part.
    assert [_way(each) for each in ship] == [whole, ("선가", 0.5, 0.27), ("배", 1.0, 0.3), ("함선", 1.0, 0.27)]
    assert [_way(each) for each in price] == [whole, ("선가", 0.5, 0.27)]
    assert [_way(each) for each in index] == [whole]


def test_a_part_that_has_the_translation_of_its_phrase_adds_none(analyzer: KoreanEnglishAnalyzer) -> None:
    assert _carried(analyzer, "deep lake") == [(("deep",), [("깊은", 0.5)]), (("lake",), [("깊은", 0.5)])]


def test_a_word_without_a_translation_may_have_a_transliteration(analyzer: KoreanEnglishAnalyzer) -> None:
    assert _carried(analyzer, "밀크셰이크 우유") == [
        (("밀크",), [("milkshake", 0.5)]),
        (("셰이크",), [("milkshake", 0.5)]),
        (("우유",), [("milk", 1.0)]),
        (("밀크셰이크",), []),
    ]


def test_a_hyphen_does_not_hide_a_phrase(analyzer: KoreanEnglishAnalyzer) -> None:
    assert _carried(analyzer, "neural-network") == [
        (("neural", "neuralnetwork", "network"), [("인공 신경망", 1.0)]),
    ]


@pytest.mark.parametrize("words", ["deep-water", "very deep-water"])
def test_a_phrase_that_ends_inside_a_word_is_not_translated(analyzer: KoreanEnglishAnalyzer, words: str) -> None:
    *_, last = _carried(analyzer, words)
    assert last == (("deep", "deepwat", "water"), [])
    assert all(not translations for _, translations in _carried(analyzer, words))
    assert _carried(analyzer, "deep water") == [(("deep",), [("깊은", 1.0)]), (("water",), [])]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("a neural network", ["인공 신경망"]),
        ("neural or network", []),
        ("the neural and the network part", []),
        ("neural, network", []),
        ("research and development", ["연구개발"]),
        ("research or development", []),
        ("research development", ["연구개발"]),
    ],
)
def test_a_phrase_reaches_over_no_conjunction_or_comma_that_it_does_not_have(
    analyzer: KoreanEnglishAnalyzer, question: str, found: list[str]
) -> None:
    (tokens,) = analyzer.tokens([question])
    segments = translate_query(tokens, LEXICON, text=question)
    assert {way.text for each in segments for way in each.translations} - {"신경망"} == set(found)


def test_a_pair_seen_once_beside_one_seen_often_is_not_used(analyzer: KoreanEnglishAnalyzer) -> None:
    assert _carried(analyzer, "우유") == [(("우유",), [("milk", 1.0)])]
    assert _carried(analyzer, "하천") == [(("하천",), [("river", 1.0), ("stream", 1.0)])]  # 4 of 50 are enough


def test_a_word_has_four_translations_at_most_and_a_synonym(analyzer: KoreanEnglishAnalyzer) -> None:
    ways = [("ship", 1.0), ("boat", 1.0), ("pear", 1.0), ("belly", 1.0), ("함선", 1.0)]
    assert _carried(analyzer, "배") == [(("배",), ways)]
