from __future__ import annotations

from collections.abc import Sequence

import pytest

from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.bm25 import idf
from shrag.indexing.glossary.query_translation import (
    PhraseTranslation,
    analyze_question,
    is_korean,
    translate_query,
    weight_translations,
)
from shrag.indexing.glossary.store import Entry
from shrag.serving.engine import Engine

ENTRIES = [
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
    *[Entry(word, "ship", (word,), ("ship",), 9, "general", score) for word, score in (("함선", 0.9), ("군함", 0.8))],
    Entry("깊은", "deep lake", ("깊은",), ("deep", "lake"), 1, "general", 0.9),
    Entry("매우 깊은", "very deep", ("매우", "깊은"), ("veri", "deep"), 9, "parenthetical", 1.0),
]


class _Book:
    """A glossary in memory."""

    def look_up(self, phrases: Sequence[Sequence[str]]) -> list[list[Entry]]:
        """See :class:`BilingualLexicon`."""
        return [
            [entry for entry in ENTRIES if tuple(phrase) in (entry.korean_terms, entry.english_terms)]
            for phrase in phrases
        ]

    def transliterations(self, word: str) -> list[Entry]:
        """See :class:`BilingualLexicon`."""
        return (
            [Entry(word, "milkshake", (word,), ("milkshak",), 0, "transliteration", 0.8)]
            if word == "밀크셰이크"
            else []
        )


def _way(translation: PhraseTranslation) -> tuple[str, float, float]:
    return translation.text, translation.share, round(translation.confidence, 3)


def _carried(analyzer: KoreanEnglishAnalyzer, question: str) -> list[tuple[tuple[str, ...], list[tuple[str, float]]]]:
    (tokens,) = analyzer.tokens([question])
    return [
        (each.terms, [(way.text, way.share) for way in each.translations]) for each in translate_query(tokens, _Book())
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


def test_the_parts_of_a_phrase_are_translated_too_by_two_each_and_with_less_confidence(
    analyzer: KoreanEnglishAnalyzer,
) -> None:
    (tokens,) = analyzer.tokens(["big ship price index"])
    big, ship, price, index = [each.translations for each in translate_query(tokens, _Book())]
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
    segments = translate_query(tokens, _Book(), text=question)
    assert {way.text for each in segments for way in each.translations} - {"신경망"} == set(found)


def test_a_pair_seen_once_beside_one_seen_often_is_not_used(analyzer: KoreanEnglishAnalyzer) -> None:
    assert _carried(analyzer, "우유") == [(("우유",), [("milk", 1.0)])]
    assert _carried(analyzer, "하천") == [(("하천",), [("river", 1.0), ("stream", 1.0)])]  # 4 of 50 are enough


def test_a_word_has_four_translations_at_most(analyzer: KoreanEnglishAnalyzer) -> None:
    assert _carried(analyzer, "배") == [(("배",), [("ship", 1.0), ("boat", 1.0), ("pear", 1.0), ("belly", 1.0)])]


def test_without_a_glossary_words_stay_as_they_are(analyzer: KoreanEnglishAnalyzer) -> None:
    (tokens,) = analyzer.tokens(["GPT-4와 우유"])
    segments = translate_query(tokens, None)
    assert [(each.terms, each.translations) for each in segments] == [(("gpt", "gpt4", "4"), ()), (("우유",), ())]


def test_a_translation_weighs_at_most_as_its_word_and_a_rarer_one_less(analyzer: KoreanEnglishAnalyzer) -> None:
    (tokens,) = analyzer.tokens(["우유 가격"])
    segments = translate_query(tokens, _Book())
    weights = {"우유": 3.0, "milk": 3.0, "가격": 3.0}
    assert [[each.weight for each in found] for found in weight_translations(segments, weights)] == [[1.0], []]
    ((common,), _) = weight_translations(segments, {"우유": 3.0, "milk": 1.5, "가격": 3.0})
    assert common.weight == 1.0
    ((rare,), _) = weight_translations(segments, {"우유": 1.5, "milk": 3.0, "가격": 3.0})
    assert rare.weight == pytest.approx(0.5**0.5)
    ((rarest,), _) = weight_translations(segments, {"우유": 0.1, "milk": 9.0, "가격": 3.0})
    assert rarest.weight == 0.5


def test_a_question_is_analysed_once_for_queries_ranking_and_extracts(demo: Engine) -> None:
    index = demo.open_index
    question = analyze_question("LSTM 신경망 LSTM zzzz", index.analyzer, index.searcher, index.glossary)
    assert question.terms == index.analyzer.terms([question.text])[0]
    assert [segment.terms for segment in question.segments] == [("lstm",), ("신경망",), ("lstm",), ("zzzz",)]
    assert [bool(found) for found in question.translations] == [bool(each.translations) for each in question.segments]
    frequencies, documents = question.statistics.contents.document_frequencies, question.statistics.contents.documents
    assert (frequencies["zzzz"], question.idf["zzzz"]) == (0, idf(0, documents))
    assert [term for term in question.idf if term in question.terms] == ["lstm", "신경망", "zzzz"]
    assert question.idf["lstm"] == idf(frequencies["lstm"], documents)
    alone = analyze_question(question.text, index.analyzer, index.searcher)
    assert (alone.tokens, alone.translations) == (question.tokens, ((),) * 4)


def test_words_that_frame_a_request_are_marked_and_not_translated(demo: Engine) -> None:
    index = demo.open_index

    def framing(question: str) -> list[str]:
        analyzed = analyze_question(question, index.analyzer, index.searcher, index.glossary)
        found = [segment for segment in analyzed.segments if segment.is_framing]
        assert not any(segment.translations for segment in found)
        return [term for segment in found for term in segment.terms]

    assert framing("Could you briefly summarize neural networks?") == ["briefli", "summar"]
    assert framing("신경망을 간략하게 요약해 주시겠습니까?") == ["간략", "요약", "주"]
    assert framing("신경망에 대한 선행연구가 있나요?") == ["선행", "연구", "선행연구"]
    assert framing("문서 요약 신경망") == []


def test_framing_words_are_content_where_there_is_no_other_keyword(demo: Engine) -> None:
    index = demo.open_index
    analyzed = analyze_question("Please summarize it.", index.analyzer, index.searcher, index.glossary)
    assert [(segment.terms, segment.is_framing) for segment in analyzed.segments] == [
        (("pleas",), False),
        (("summar",), False),
    ]


def test_a_text_is_korean_where_a_fifth_of_its_terms_are() -> None:
    assert is_korean(["우유", "a", "b", "c", "d"])
    assert not is_korean(["우유", "a", "b", "c", "d", "e"])


@pytest.mark.parametrize(
    ("terms", "korean"),
    [
        ([], True),
        (["film"] * 4, False),
        (["film"] * 4 + ["그래핀"], True),
        (["film"] * 5 + ["그래핀"], False),
        (["café", "é"], False),
        (["film"] * 28 + ["그래핀"] * 7, True),
        (["film"] * 29 + ["그래핀"] * 7, False),
    ],
)
def test_terms_are_korean_where_a_fifth_of_them_is(terms: list[str], korean: bool) -> None:
    assert is_korean(terms) is korean
