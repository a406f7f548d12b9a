from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest

from shrag.corpora.records import Record
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analyzed_record import analyze_record
from shrag.indexing.lexical.uncovered_words import uncovered_words
from shrag.indexing.search_engine import FieldStatistics, SearchEngine, Statistics
from shrag.indexing.translation.query_translation import analyze_question
from shrag.serving.engine import Engine
from tests.support.analyzed import analyzed_question, analyzed_records


class _Engine:
    """An engine of a hundred documents, each of whose words is in one of them."""

    def statistics(self, terms: Sequence[str]) -> Statistics:
        field = FieldStatistics(100, 10.0, dict.fromkeys(terms, 1))
        return Statistics(field, field)


@pytest.mark.parametrize(
    ("question", "texts", "words", "share"),
    [
        ("yachts in Lisbon", ["One.", "Two.", "Lisbon.", "Yachts."], ("yachts",), 1 / 2),  # not in the first three
        ("yachts in Lisbon", ["Yacht races.", "Lisbon."], (), 0),
        ("batteries in Lisbon", ["Lisbon.", "A battery."], (), 0),  # another form, in the second record
        ("LabViews in Lisbon", ["Lab view. Lisbon."], (), 0),  # written apart, and in the singular
        ("the yacht, a Lisbon yacht", ["Lisbon."], ("yacht",), 1 / 2),  # named once
        ("GPT-4 and x", ["One."], ("GPT-4",), 1),  # a word of one letter names nothing
        ("GPT-4 in Lisbon", ["GPT is old. Lisbon."], ("GPT-4",), 1 / 2),
        ("quickly moving yachts", ["One."], ("yachts",), 1),  # words with the endings of verbs and adverbs
        ("Quickly, Moving", ["One."], ("Quickly", "Moving"), 1),  # names, by their capitals
        ("산은 높은가", ["하나."], (), 0),
        ("산맥은 높은가", ["하나."], ("산맥",), 1),
        ("육각형을 그리다", ["육각 하나."], (), 0),
        ("", ["One."], (), 0),
    ],
)
def test_words_of_a_question_that_its_first_three_records_have_not(
    analyzer: KoreanEnglishAnalyzer, question: str, texts: Sequence[str], words: tuple[str, ...], share: float
) -> None:
    records = [analyze_record(Record("r", "T", text, "en", complete=True), analyzer) for text in texts]
    analyzed = analyze_question(question, analyzer, cast("SearchEngine", _Engine()))
    assert uncovered_words(analyzed, records)[:2] == (words, share)


@pytest.mark.parametrize(
    ("question", "text", "words"),
    [
        ("yachts in Lisbon", "Yacht races.", ("Lisbon",)),
        ("얄루의 그래핀", "필름이다.", ("얄루", "그래핀")),
        ("ants bees cats dogs eels", "One.", ("ants", "bees", "cats", "dogs")),  # the first four
    ],
)
def test_words_of_a_question_that_one_record_lacks(
    demo: Engine, question: str, text: str, words: tuple[str, ...]
) -> None:
    (record,) = analyzed_records(demo, text)
    assert uncovered_words(analyzed_question(demo, question), [record]).words == words


def test_words_count_as_uncovered_only_where_no_record_has_them_in_either_language(demo: Engine) -> None:
    question = analyzed_question(demo, "Could you summarize graphene yachts and prediction in Lisbon?")
    # The commonest word of the question is not distinctive.
    records = analyzed_records(demo, "Graphene is thin.", "모형의 예측 성능이 높았다.")
    assert uncovered_words(question, records) == (("yachts", "Lisbon"), 2 / 3, ("yachts", "Lisbon"))
    assert uncovered_words(question, []) == (("graphene", "yachts", "Lisbon"), 1, ("yachts", "Lisbon"))
    assert uncovered_words(analyzed_question(demo, "How is it?"), records) == ((), 0, ())


def test_four_words_are_named_and_all_count(demo: Engine) -> None:
    question = analyzed_question(demo, "graphene yachts, Lisbon, harbours, lighthouses, anchors")
    uncovered = uncovered_words(question, analyzed_records(demo, "Graphene is thin."))
    assert uncovered[:2] == (("yachts", "Lisbon", "harbours", "lighthouses"), 5 / 6)


def test_uncovered_words_are_whole_words_of_which_no_part_is_covered(demo: Engine) -> None:
    def uncovered(question: str, *texts: str) -> tuple[str, ...]:
        return uncovered_words(analyzed_question(demo, question), analyzed_records(demo, *texts)).words

    assert uncovered("비파괴초음파검사는 어떻게 바뀌나요?", "차폐 효율을 재었다.") == ("비파괴초음파검사",)
    assert uncovered("비파괴초음파검사는 어떻게 바뀌나요?", "초음파의 속도를 재었다.") == ()
    assert uncovered("자유학기제로 무엇이 달라지나요?", "차폐 효율을 재었다.") == ("자유학기제",)
    assert uncovered("What does LabView help yachts with?", "Lab view is a tool.") == ("yachts",)
    assert uncovered("육각형 탐색이 빠른가요?", "육각 탐색을 제안한다.") == ()
    assert uncovered("육각형 탐색이 빠른가요?", "육면체 탐색을 제안한다.") == ("육각형",)
    assert uncovered("육각 탐색이 빠른가요?", "육면체 탐색을 제안한다.") == ("육각",)


def test_words_that_name_no_subject_are_not_named_as_uncovered(demo: Engine) -> None:
    question = analyzed_question(
        demo, "Which yachts are still rarely taken far beyond Lisbon, judging by watched races?"
    )
    assert uncovered_words(question, analyzed_records(demo, "Graphene is thin.")).words == ("yachts", "Lisbon", "races")
    question = analyzed_question(
        demo, "히말라야에서 가장 높은 산은 어디인가요? 우리나라 사람 가운데 누구인가요? 이유와 방법은?"
    )
    assert uncovered_words(question, analyzed_records(demo, "Graphene is thin.")).words == ("히말라야",)
    question = analyzed_question(demo, "Despite yachts, Help Lisbon?")  # capitals, as where a question begins
    assert uncovered_words(question, analyzed_records(demo, "Graphene is thin.")).words == ("yachts", "Lisbon")
