from __future__ import annotations

import pytest

from shrag.models.errors import ModelUnavailable
from shrag.serving.answer_cache import AnswerCache
from shrag.serving.engine import Engine
from shrag.serving.events import FollowUp
from shrag.serving.request import Turn
from shrag.serving.retrieval.follow_up import missing_keywords, refers
from tests.support.scripted_models import ScriptFile

COWS = "How much does milk yield fall in dairy cows under heat stress?"
REMOTE = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"


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


@pytest.mark.parametrize("greeting", ["안녕하세요", "감사합니다!", "Thanks."])
def test_a_greeting_asks_for_nothing_alone_and_after_a_question(demo: Engine, greeting: str) -> None:
    for history in ([], [Turn(COWS)]):
        found = demo.ask(greeting, history=history)
        assert (found.answer.reason, found.search.follow_up) == ("no_keywords", None)


def test_nothing_is_added_that_the_question_has_in_either_language(demo: Engine) -> None:
    index = demo.open_index
    assert missing_keywords("그 그래핀은?", "Graphene aerogels shield electromagnetic waves", index) == [
        "aerogels",
        "shield",
        "electromagnetic waves",
    ]


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
