from __future__ import annotations

from shrag.indexing.lexical.uncovered_words import uncovered_words
from shrag.serving.engine import Engine
from tests.support.analyzed import analyzed_question, analyzed_records


def test_words_count_as_uncovered_only_where_no_record_has_them_in_either_language(demo: Engine) -> None:
    question = analyzed_question(demo, "Could you summarize graphene yachts and prediction in Lisbon?")
    # The commonest word of the question is not distinctive.
    records = analyzed_records(demo, "Graphene is thin.", "모형의 예측 성능이 높았다.")
    assert uncovered_words(question, records) == (("yachts", "Lisbon"), 2 / 3)
    assert uncovered_words(question, []) == (("graphene", "yachts", "Lisbon"), 1)
    assert uncovered_words(analyzed_question(demo, "How is it?"), records) == ((), 0)


def test_four_words_are_named_and_all_count(demo: Engine) -> None:
    question = analyzed_question(demo, "graphene yachts, Lisbon, harbours, lighthouses, anchors")
    uncovered = uncovered_words(question, analyzed_records(demo, "Graphene is thin."))
    assert uncovered == (("yachts", "Lisbon", "harbours", "lighthouses"), 5 / 6)


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
