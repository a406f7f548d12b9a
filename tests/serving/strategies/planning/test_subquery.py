from __future__ import annotations

from dataclasses import replace

import pytest

from shrag.serving.engine import Engine
from shrag.serving.events import Truncated
from shrag.serving.request import Request, parse_question
from shrag.serving.search_settings import SearchSettings
from shrag.serving.strategies.planning.plan import with_budget
from shrag.serving.strategies.planning.subquery import find, find_all, question_key
from shrag.serving.strategy import Resources
from tests.support.scripted_models import ScriptedModel

ONION = "LSTM으로 양파 도매가격을 예측하면 오차가 얼마나 줄어드는가?"
MARSH = "What do restored salt marshes store?"
WORDS = "ㅁㄴㅇㄹ"


def _resources(demo: Engine) -> Resources:
    return demo.resources


def _request(text: str, k: int = 10) -> Request:
    return Request(parse_question(text), k, answered=False)


def test_a_sub_question_is_searched_for_like_a_question_of_its_own(demo: Engine) -> None:
    alone = demo.search(MARSH)
    found = find(parse_question(MARSH), _request(ONION), _resources(demo))
    assert (found.keywords, found.queries, found.hits, found.ranking) == (
        alone.keywords,
        alone.queries,
        alone.hits,
        alone.ranking,
    )
    assert found.model_events == ()
    best = found.records(3)
    assert [each.record.docid for each in best] == [ranked.record.docid for ranked in alone.ranking.records[:3]]


def test_several_questions_give_results_in_their_order(demo: Engine) -> None:
    questions = [parse_question(text) for text in (MARSH, ONION, WORDS)]
    request = _request(ONION)
    found = find_all(questions, request, _resources(demo))
    assert [one.question for one in found] == questions
    assert found == [find(question, request, _resources(demo)) for question in questions]
    assert found[2].records(3) == []
    assert find_all([], request, _resources(demo)) == []


def test_with_an_exhausted_budget_the_questions_own_words_are_searched_for(demo: Engine) -> None:
    resources = with_budget(replace(demo.resources, model=ScriptedModel()), SearchSettings(calls=0))
    found = find(parse_question(MARSH), _request(ONION), resources)
    assert found.model_events == (Truncated("calls", 0),)
    assert found.ranking == find(parse_question(MARSH), _request(ONION), demo.resources).ranking


def test_records_kept_of_a_ranking_are_ranked_from_1(demo: Engine) -> None:
    found = find(parse_question(MARSH), _request(ONION), demo.resources)
    every_second = found.only(found.ranking.records[::2])
    assert [one.record for one in every_second.ranking.records] == [one.record for one in found.ranking.records[::2]]
    assert [one.rank for one in every_second.ranking.records] == list(range(1, len(found.ranking.records[::2]) + 1))
    assert found.only([]).ranking.records == ()


@pytest.mark.parametrize(
    ("text", "key"),
    [("Who is he?", "whoishe"), ("who  IS he", "whoishe"), ("그는 누구인가?", "그는누구인가"), ("…?!", ""), ("", "")],
)
def test_the_key_of_a_question_is_its_letters_and_digits(text: str, key: str) -> None:
    assert question_key(text) == key
