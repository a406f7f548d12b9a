from __future__ import annotations

from shrag.serving.engine import Engine
from shrag.serving.planning.finding import find, find_all
from shrag.serving.question import read_question
from shrag.serving.strategy import Request, Resources

ONION = "LSTM으로 양파 도매가격을 예측하면 오차가 얼마나 줄어드는가?"
MARSH = "What do restored salt marshes store?"
WORDS = "ㅁㄴㅇㄹ"


def _resources(demo: Engine) -> Resources:
    return demo.resources


def _request(text: str, k: int = 10) -> Request:
    return Request(read_question(text), k, answered=False)


def test_a_question_of_a_plan_is_found_as_it_would_be_alone(demo: Engine) -> None:
    alone = demo.search(MARSH)
    found = find(read_question(MARSH), _request(ONION), _resources(demo))
    assert (found.keywords, found.queries, found.hits, found.ranking) == (
        alone.keywords,
        alone.queries,
        alone.hits,
        alone.ranking,
    )
    assert found.told == ()
    best = found.records(3)
    assert [each.record.docid for each in best] == [ranked.record.docid for ranked in alone.ranking.records[:3]]


def test_questions_are_found_in_their_order_and_none_is_enough(demo: Engine) -> None:
    questions = [read_question(text) for text in (MARSH, ONION, WORDS)]
    request = _request(ONION)
    found = find_all(questions, request, _resources(demo))
    assert [one.question for one in found] == questions
    assert found == [find(question, request, _resources(demo)) for question in questions]
    assert found[2].records(3) == []
    assert find_all([], request, _resources(demo)) == []
