from __future__ import annotations

import pytest

from shrag.indexing.bm25 import idf
from shrag.indexing.query import any_of
from shrag.serving.engine import Engine
from shrag.serving.ladder import build_ladder
from shrag.serving.words import Word, matched_share, question_words, searchable, why_nothing


def _words(demo: Engine, question: str) -> list[Word]:
    return question_words(question, demo.open_index.analyzer, demo.open_index.engine)


def test_words_are_the_content_words_as_written_each_once(demo: Engine) -> None:
    words = _words(demo, "GPT-4와 gpt-4는 그래핀을 어떻게 비교하나? 재귀적으로")
    assert [(word.text, word.uses, word.keyword, word.known) for word in words] == [
        ("GPT-4", 2, True, True),
        ("그래핀", 1, True, True),
        ("비교", 1, True, True),
        ("재귀", 1, True, False),
    ]
    assert words[0].terms == ("gpt", "gpt4", "4")


def test_a_word_weighs_as_its_rarest_term_that_the_index_has(demo: Engine) -> None:
    (word,) = _words(demo, "GPT-4")
    statistics = demo.open_index.engine.statistics(list(word.terms)).contents
    assert word.idf == max(idf(df, 170) for df in statistics.document_frequencies.values() if df)
    (unknown,) = _words(demo, "재귀")
    assert unknown.idf == idf(0, 170)


def test_the_share_of_a_question_goes_from_none_to_all() -> None:
    words = [Word("a", ("a", "a1"), 3.0, 1, True, True), Word("b", ("b",), 1.0, 1, True, True)]
    assert [matched_share(words, terms) for terms in (set(), {"b"}, {"a1"}, {"a", "b", "c"})] == [0, 0.25, 0.75, 1]
    assert matched_share([], {"a"}) == 0


def test_only_known_nouns_names_and_numbers_can_be_searched_for() -> None:
    words = [Word(str(n), (str(n),), float(n), 1, keyword=n != 3, known=n != 4) for n in range(6)]
    assert [word.text for word in searchable(words)] == ["0", "1", "2", "5"]


def test_the_ladder_drops_the_least_important_keyword_at_each_rung() -> None:
    words = [Word("A", ("a1", "a2"), 2, 1, True, True), Word("B", ("b",), 1, 1, True, True)]
    assert build_ladder(words) == [any_of(["a1", "a2", "b"]), any_of(["a1", "a2"])]
    assert build_ladder([]) == []


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("???", "no_keywords"),
        ("무엇이 어떻게 되나요?", "no_keywords"),
        ("zzzz qqqq", "unknown_words"),
        ("그래핀", "nothing_found"),
    ],
)
def test_there_is_a_reason_for_finding_nothing(demo: Engine, question: str, reason: str) -> None:
    assert why_nothing(_words(demo, question)) == reason
