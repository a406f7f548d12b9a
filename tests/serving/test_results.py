from __future__ import annotations

import json
from dataclasses import replace
from html import escape

import pytest

from shrag.serving.answer_cache import AnswerCache, CachedAnswer
from shrag.serving.answering.formats import REASONS
from shrag.serving.engine import Engine
from shrag.serving.errors import ClientDisconnected
from shrag.serving.events import Answer, Ranking, Timings, Truncated
from shrag.serving.request import Request, parse_question, parse_request
from shrag.serving.results import ask_result, cached_ask, cached_search
from tests.support.scripted_models import ScriptFile

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"

HOPS = "양파 도매가격을 예측한 신경망은 지하수위를 얼마나 잘 예측하나?"


def test_a_result_has_the_events_and_their_index(demo: Engine) -> None:
    request = Request(parse_question(QUESTION), 5, answered=True)
    events = list(demo.events(QUESTION, k=5))
    result = ask_result("some", 7, request, events)
    search = result.search
    assert (search.index, search.generation, search.strategy, search.question) == ("some", 7, "shrag", request.question)
    assert [result.answer] == [event for event in events if isinstance(event, Answer)]
    assert [search.ranking] == [event for event in events if isinstance(event, Ranking)]
    assert (search.timings, search.model_calls, search.fallbacks) == (events[-1], (), ())


def test_a_result_has_each_node_once_in_its_final_state_also_from_the_cache(demo: Engine) -> None:
    model = ScriptFile("tree")
    model.say("evaluate", '{"coherence": 4, "answerability": 20, "valid": false}')
    model.make("branch", lambda: f'{{"kind": "hybrid", "questions": ["onion {len(model.asked)}?"]}}')
    engine = Engine(demo.open_index, model, cache=AnswerCache())
    asked = engine.ask(HOPS, strategy="tree").search
    assert [(node.number, node.parent, node.state) for node in asked.nodes] == [
        (0, None, "answered"),
        (1, 0, "unanswered"),
        (2, 1, "unanswered"),
        (3, 2, "unanswered"),
    ]
    assert asked.truncated == (Truncated("depth", 4),)
    kept = engine.run(parse_request(HOPS, answered=True, strategy="tree"))
    assert isinstance(kept, CachedAnswer)
    assert (cached_search(kept).nodes, cached_search(kept).truncated) == (asked.nodes, asked.truncated)
    assert engine.ask(QUESTION, strategy="bm25").search.nodes == ()


def test_a_cached_result_is_equal_but_for_its_timings(demo: Engine) -> None:
    engine = Engine(demo.open_index, cache=AnswerCache())
    asked, searched = engine.ask(QUESTION), engine.search(QUESTION)
    answer, search = (engine.run(parse_request(QUESTION, answered=answered)) for answered in (True, False))
    assert isinstance(answer, CachedAnswer)
    assert isinstance(search, CachedAnswer)
    assert cached_ask(answer).answer == asked.answer
    assert cached_search(answer).ranking == cached_search(search).ranking == searched.ranking
    assert isinstance(cached_search(search).timings, Timings)
    assert cached_search(search).timings.cached


def test_events_without_timings_are_of_a_cancelled_run(demo: Engine) -> None:
    request = parse_request(QUESTION, answered=True)
    events = list(demo.run(request))
    with pytest.raises(ClientDisconnected, match="cancelled"):
        ask_result("some", 7, request, events[:-1])


def test_a_search_iterates_over_its_records_and_is_true_without_one(demo: Engine) -> None:
    found = demo.search(QUESTION, k=3)
    assert [each.rank for each in found] == [1, 2, 3]
    assert (len(found), found[2]) == (3, found.ranking.records[2])
    nothing = demo.search("qwertzuiop")
    assert (len(nothing), bool(nothing), nothing.ranking.reason) == (0, True, "unknown_words")


def test_results_become_dictionaries_and_data_frames(demo: Engine) -> None:
    found, answered = demo.search(QUESTION, k=2), demo.ask(QUESTION)
    assert found.to_dict()["ranking"]["records"][0]["record"]["docid"] == found[0].record.docid
    assert answered.to_dict()["text"] == answered.text == str(answered)
    assert answered.text.startswith("##")
    json.dumps([found.to_dict(), answered.to_dict()])
    frame = found.to_pandas()
    assert frame["docid"].tolist() == [each.record.docid for each in found]
    assert frame["rank"].tolist() == [1, 2]
    assert list(demo.search("qwertzuiop").to_pandas().columns) == list(frame.columns)


def test_a_notebook_shows_text_of_records_escaped(demo: Engine) -> None:
    answered = demo.ask(QUESTION)
    hostile = replace(answered.search.ranking.records[0].record, title="<script>alert(1)</script>")
    ranked = replace(answered.search.ranking.records[0], record=hostile)
    shown = replace(answered.search, ranking=replace(answered.search.ranking, records=(ranked,)))._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown
    cited = answered.answer.citations[0]
    assert f"<li>[1] {cited.docid}" in answered._repr_html_()
    refused = demo.ask("qwertzuiop")
    reason = f"<p>{escape(REASONS['en']['unknown_words'])}</p>"
    assert refused._repr_html_() == reason
    assert refused.search._repr_html_() == reason
