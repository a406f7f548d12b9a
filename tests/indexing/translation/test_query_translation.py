from __future__ import annotations

import pytest

from shrag.indexing.analysis.analyzer import Token, TokenKind
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.bm25 import idf
from shrag.indexing.glossary.store import Entry
from shrag.indexing.translation.query_translation import (
    QuerySegment,
    analyze_question,
    is_korean,
    translate_query,
    weight_translations,
)
from shrag.serving.engine import Engine
from tests.support.entries_lexicon import EntriesLexicon

LEXICON = EntriesLexicon([Entry("우유", "milk", ("우유",), ("milk",), 40, "parenthetical", 1.0)])


def test_without_a_glossary_words_stay_as_they_are(analyzer: KoreanEnglishAnalyzer) -> None:
    (tokens,) = analyzer.tokens(["GPT-4와 우유"])
    segments = translate_query(tokens, None)
    assert [(each.terms, each.translations) for each in segments] == [(("gpt", "gpt4", "4"), ()), (("우유",), ())]


def test_a_prefix_belongs_to_the_noun_behind_it(analyzer: KoreanEnglishAnalyzer) -> None:
    question = "비대면 수업과 비지도학습"
    (tokens,) = analyzer.tokens([question])
    assert [(each.written_in(question), each.terms, each.is_keyword) for each in translate_query(tokens, None)] == [
        ("비대면", ("비대면", "대면"), True),
        ("수업", ("수업",), True),
        ("비지도", ("지도",), True),
        ("학습", ("학습",), True),
        ("비지도학습", ("비지도학습",), False),
    ]


@pytest.mark.parametrize(
    ("kind", "framing", "light", "keyword"),
    [
        ("noun", False, False, True),
        ("foreign", False, False, True),
        ("predicate", False, False, False),
        ("noun", True, False, False),
        ("noun", False, True, False),
        ("compound", False, False, False),
    ],
)
def test_a_noun_that_neither_frames_nor_is_light_is_a_keyword(
    kind: TokenKind, framing: bool, light: bool, keyword: bool
) -> None:
    tokens = (Token("milk", 0, 4, kind),)
    assert QuerySegment(tokens, ("milk",), (), is_framing=framing, is_light=light).is_keyword is keyword


def test_a_translation_weighs_at_most_as_its_word_and_a_rarer_one_less(analyzer: KoreanEnglishAnalyzer) -> None:
    (tokens,) = analyzer.tokens(["우유 가격"])
    segments = translate_query(tokens, LEXICON)
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


@pytest.mark.parametrize(
    ("question", "repeated"),
    [
        ("태풍 라이다 lidar 관측", ["lidar"]),
        ("연합학습(federated learning)의 보호", ["feder", "learn"]),
        ("federated learning(연합학습)", ["연합", "학습"]),
        ("federated machine learning 연합학습", []),
        ("라이다 학습 lidar", []),
        ("fifa 월드컵 우승", []),  # no translation of 월드컵 is FIFA
        ("라이다", []),
    ],
)
def test_words_that_repeat_those_before_them_in_the_other_language_do_not_count(
    analyzer: KoreanEnglishAnalyzer, question: str, repeated: list[str]
) -> None:
    lexicon = EntriesLexicon(
        [
            Entry("라이다", "lidar", ("라이다",), ("lidar",), 40, "parenthetical", 1.0),
            Entry("연합학습", "federated learning", ("연합", "학습"), ("feder", "learn"), 40, "parenthetical", 1.0),
            Entry("월드컵", "world cup", ("월드컵",), ("world", "cup"), 90, "parenthetical", 1.0),
            Entry("월드컵", "fifa", ("월드컵",), ("fifa",), 1, "parenthetical", 0.1),
        ]
    )
    (tokens,) = analyzer.tokens([question])
    found = [each for each in translate_query(tokens, lexicon, text=question) if each.is_framing]
    assert [term for segment in found for term in segment.terms] == repeated
    assert not any(segment.translations for segment in found)


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
