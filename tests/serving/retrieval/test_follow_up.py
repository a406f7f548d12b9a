from __future__ import annotations

import pytest

from shrag.models.errors import ModelUnavailable
from shrag.serving.answer_cache import AnswerCache
from shrag.serving.engine import Engine
from shrag.serving.events import FollowUp
from shrag.serving.request import Turn
from shrag.serving.retrieval.follow_up import (
    READ_TURNS,
    AskedQuestion,
    missing_keywords,
    needs_subject,
    refers,
)
from tests.support.scripted_models import ScriptFile

COWS = "How much does milk yield fall in dairy cows under heat stress?"
REMOTE = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"


def _asked(demo: Engine, *texts: str) -> list[AskedQuestion]:
    return [AskedQuestion(text, demo.open_index) for text in texts]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("그 연구의 표본은 몇 명인가?", True),
        ("그럼 대책은?", True),
        ("이것은 왜 그런가?", True),
        ("And their conception rate?", True),
        ("Does it work for medical students?", True),
        ("그래핀은 전자파를 얼마나 차단하는가?", False),
        ("그리스 신화의 영향", False),
        ("이산화탄소 흡수량은?", False),
        ("How do italics affect reading?", False),
    ],
)
def test_a_reference_to_something_unnamed_is_recognised(question: str, expected: bool) -> None:
    assert refers(question) is expected


def test_a_question_that_lacks_its_subject_gets_the_keywords_before_it_in_their_order(demo: Engine) -> None:
    found = demo.search("And what about their conception rate?", history=[Turn(COWS)], k=1)
    assert found.follow_up == FollowUp(
        "And what about their conception rate? milk yield fall dairy cows heat stress",
        ("milk yield", "fall", "dairy cows", "heat stress"),
    )
    assert found[0].record.docid == "DEMO-AGR-008"
    assert found.question.text == "And what about their conception rate?"


def test_a_chain_of_follow_ups_keeps_the_first_subject(demo: Engine) -> None:
    found = demo.search("왜?", history=[Turn(REMOTE), Turn("그 연구의 표본은 몇 명인가?")])
    assert found.follow_up is not None
    assert "재택근무" in found.follow_up.added
    assert found[0].record.docid == "DEMO-SOC-012"


@pytest.mark.parametrize(
    "question",
    [
        "그래핀은 전자파를 얼마나 차단하는가?",
        "How do salt marshes store carbon when their sediment is eroded by waves?",
    ],
)
def test_a_question_that_stands_by_itself_is_searched_for_as_it_is(demo: Engine, question: str) -> None:
    alone = demo.search(question)
    after = demo.search(question, history=[Turn(COWS)])
    assert after.follow_up is None
    assert after.ranking == alone.ranking


@pytest.mark.parametrize(
    "greeting", ["안녕하세요", "감사합니다!", "네, 알겠습니다", "좋아요", "Thanks.", "Ok, thank you so much!"]
)
def test_a_greeting_asks_for_nothing_alone_and_after_a_question(demo: Engine, greeting: str) -> None:
    for history in ([], [Turn(COWS)]):
        found = demo.ask(greeting, history=history)
        assert (found.answer.reason, found.search.follow_up) == ("no_keywords", None)


def test_nothing_is_added_that_the_question_has_in_either_language(demo: Engine) -> None:
    asked, before = _asked(demo, "그 그래핀은?", "Graphene aerogels shield electromagnetic waves")
    assert missing_keywords(asked, [before]) == ["aerogels", "shield", "electromagnetic waves"]


def test_a_phrase_is_added_whole_where_the_question_has_only_one_of_its_words(demo: Engine) -> None:
    asked, before = _asked(demo, "And in summer heat?", COWS)
    assert missing_keywords(asked, [before]) == ["milk yield", "fall", "dairy cows", "heat stress"]


@pytest.mark.parametrize(
    "question",
    [
        "더 최근 연구는 없나요?",
        "영어로 된 자료는?",
        "비슷한 논문 더 있어?",
        "2020년 이후 연구만 보여 줘",
        "Any newer studies?",
        "Is there anything more recent?",
        "Papers in Korean, please",
        "Show me other articles published since 2019",
        "요약해 줘",
        "더 쉽게 설명해 주세요",
        "Explain it in more detail, please",
        "Summarize that in one sentence",
    ],
)
def test_a_question_that_only_asks_for_records_or_a_summary_is_searched_for_by_the_earlier_words_alone(
    demo: Engine, question: str
) -> None:
    found = demo.search(question, history=[Turn(COWS)])
    assert found.follow_up == FollowUp(
        "milk yield fall dairy cows heat stress", ("milk yield", "fall", "dairy cows", "heat stress")
    )
    assert found.ranking.records == demo.search("milk yield fall dairy cows heat stress").ranking.records


@pytest.mark.parametrize(
    ("question", "before", "expected"),
    [
        ("입력 변수는?", REMOTE, True),
        ("표본 크기는 얼마인가?", REMOTE, True),
        ("How large was the sample?", COWS, True),
        ("Which method was best?", COWS, True),
        ("일본 데이터로 한 것은?", REMOTE, True),
        ("고등학생을 대상으로 한 연구도 있나요?", REMOTE, True),
        ("What other sediment models?", COWS, True),
        ("Niacin and cooling?", COWS, True),  # a record has these and cows under heat stress
        ("Graphene shielding?", COWS, False),  # no record has both
        ("Graphene zorblax?", COWS, False),
        ("그래핀 필름의 다른 용도와 전자파 차폐는?", REMOTE, False),
        ("더 얇은 그래핀 필름은?", REMOTE, False),
        ("감사합니다", REMOTE, False),
    ],
)
def test_a_question_needs_the_earlier_subject_unless_it_has_its_own(
    demo: Engine, question: str, before: str, expected: bool
) -> None:
    asked, earlier = _asked(demo, question, before)
    assert needs_subject(asked, [earlier]) is expected
    assert not needs_subject(asked, [])


@pytest.mark.parametrize("second", ["입력 변수는?", "더 최근 연구는?", "고맙습니다"])
def test_the_subject_stays_behind_questions_without_one(demo: Engine, second: str) -> None:
    third = demo.search("그 방법의 한계는?", history=[Turn(REMOTE), Turn(second)])
    assert third.follow_up is not None
    assert third.follow_up.added[:2] == ("재택근무", "일")
    assert third[0].record.docid == "DEMO-SOC-012"


def test_a_question_with_a_subject_of_its_own_is_what_later_ones_are_about(demo: Engine) -> None:
    third = demo.search("Why?", history=[Turn(REMOTE), Turn(COWS)])
    assert third.follow_up is not None
    assert third.follow_up.added == ("milk yield", "fall", "dairy cows", "heat stress")


def test_a_language_model_rewrites_the_question_with_the_turns_as_material(demo: Engine) -> None:
    model = ScriptFile("tree")
    model.say("keywords", '{"keywords": ["dairy cows", "heat stress"]}')
    model.say("in_context", '{"question": "Does the conception rate of dairy cows fall under heat stress?"}')
    engine = Engine(demo.open_index, model)
    found = engine.search("And their conception rate?", history=[Turn(COWS, "By ⟦14.9%⟧.")])
    assert found.follow_up == FollowUp("Does the conception rate of dairy cows fall under heat stress?", (), "scripted")
    assert model.asked[0] == "in_context"
    asked = model.told[0][1]
    assert f"Question: {COWS}\nAnswer: By [14.9%]." in asked
    assert asked.rstrip().endswith("And their conception rate?")
    assert "query" in [call.stage for call in found.model_calls]


def test_without_a_usable_reply_of_the_model_keywords_are_added(demo: Engine) -> None:
    model = ScriptFile("tree")
    model.say("keywords", '{"keywords": ["dairy cows", "heat stress"]}')
    model.fail("in_context", ModelUnavailable("away"))
    found = Engine(demo.open_index, model).search("And their conception rate?", history=[Turn(COWS)])
    assert found.fallbacks[0].stage == "query"
    assert found.follow_up is not None
    assert found.follow_up.added[0] == "milk yield"


def test_answers_after_other_turns_are_cached_apart(demo: Engine) -> None:
    engine = Engine(demo.open_index, cache=AnswerCache())
    question = "왜 그런가?"
    first = engine.ask(question, history=[Turn(REMOTE)])
    other = engine.ask(question, history=[Turn(COWS)])
    again = engine.ask(question, history=[Turn(REMOTE)])
    assert first.answer != other.answer
    assert again.answer == first.answer
    assert again.search.timings.cached
    assert again.search.follow_up == first.search.follow_up


def test_empty_turns_are_left_out(demo: Engine) -> None:
    assert demo.search(REMOTE, history=[Turn("  "), Turn("")]).follow_up is None


@pytest.mark.parametrize(("between", "is_read"), [(READ_TURNS - 1, True), (READ_TURNS, False)])
def test_a_subject_is_found_as_many_turns_ago_as_are_read(demo: Engine, between: int, is_read: bool) -> None:
    found = demo.search("왜?", history=[Turn(COWS), *[Turn("그럼 대책은?")] * between])
    assert (found.follow_up is not None and "milk yield" in found.follow_up.added) is is_read
