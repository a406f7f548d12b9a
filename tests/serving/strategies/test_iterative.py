from __future__ import annotations

from collections.abc import Sequence

import pytest

from shrag.models.errors import InvalidOutput, ModelError, ModelRefused
from shrag.models.language_model import LanguageModel
from shrag.serving.engine import Engine
from shrag.serving.errors import StrategyUnavailable
from shrag.serving.events import Answer, Event, Fallback, ModelCall, Node, Ranking, Timings, Truncated
from shrag.serving.request import Request, parse_question
from shrag.serving.search_settings import SearchSettings
from shrag.serving.strategies.iterative import ITERATIVE, previous_context, self_ask
from shrag.serving.strategies.planning.plan import PlanStrategy, Steps
from tests.support.scripted_models import ScriptFile

# Written out, so that a change of the module's own is noticed.
MOST_TURNS = 5

BOTH = "LSTM은 양파와 지하수위를 얼마나 잘 예측하는가?"
ONION, GROUNDWATER = "LSTM의 양파 도매가격 예측 오차는 얼마인가?", "LSTM의 지하수위 예측 효율은 얼마인가?"


def _events(demo: Engine, strategy: str, model: LanguageModel | None) -> list[Event]:
    return list(Engine(demo.open_index, model=model).events(BOTH, strategy=strategy))


def _steps(events: Sequence[Event]) -> list[Node]:
    return [event for event in events if isinstance(event, Node) and event.kind == "step"]


def _answer(events: Sequence[Event]) -> Answer:
    (answer,) = [event for event in events if isinstance(event, Answer)]
    return answer


def _told(events: Sequence[Event]) -> list[tuple[str, str]]:
    return [(event.stage, event.cause) for event in events if isinstance(event, Fallback)]


def _root(events: Sequence[Event]) -> Node:
    return [event for event in events if isinstance(event, Node) and event.number == 0][-1]


def test_direct_searches_once_by_the_query_that_the_model_writes(demo: Engine) -> None:
    model = ScriptFile("iterative")
    events = _events(demo, "direct", model)
    assert model.asked == ["query"]
    assert (_root(events).query, _root(events).state) == ("LSTM onion wholesale price forecast error", "answered")
    (ranking,) = [event for event in events if isinstance(event, Ranking)]
    assert ranking.records[0].record.docid == "DEMO-AGR-002"
    assert _answer(events).kind == "generated"
    assert not _steps(events)


def test_cot_query_searches_once_by_the_query_that_its_reasoning_ends_in(demo: Engine) -> None:
    model = ScriptFile("iterative")
    events = _events(demo, "cot-query", model)
    assert model.asked == ["reasoned_query"]
    assert (_root(events).query, _root(events).state) == ("onion wholesale price LSTM forecast error", "answered")
    (ranking,) = [event for event in events if isinstance(event, Ranking)]
    assert ranking.records[0].record.docid == "DEMO-AGR-002"
    assert "가격 예측의 오차를 적은 문헌" in model.streams[0]
    assert not _steps(events)


def test_cot_query_searches_by_the_question_where_the_model_fails(demo: Engine) -> None:
    model = ScriptFile("iterative")
    model.fail("reasoned_query", ModelRefused("Too long."))
    events = _events(demo, "cot-query", model)
    assert (_root(events).query, _told(events)) == (BOTH, [("query", "refused")])
    assert _answer(events).kind == "generated"


@pytest.mark.parametrize("failure", [ModelRefused("Too long."), InvalidOutput("No JSON.")])
def test_direct_searches_by_the_question_where_the_model_fails(demo: Engine, failure: ModelError) -> None:
    model = ScriptFile("iterative")
    model.fail("query", failure)
    events = _events(demo, "direct", model)
    assert _root(events).query == BOTH
    assert _told(events) == [("query", "refused" if isinstance(failure, ModelRefused) else "invalid_output")]
    assert _answer(events).kind == "generated"


def test_self_ask_searches_and_answers_until_there_is_no_follow_up(demo: Engine) -> None:
    model = ScriptFile("iterative")
    events = _events(demo, "self-ask", model)
    assert [name for name in model.asked if name != "keywords"] == [
        "followup",
        "solve",
        "followup",
        "solve",
        "followup",
    ]
    assert [(node.number, node.state, node.question, node.answer, node.source) for node in _steps(events)] == [
        (1, "open", ONION, "", ""),
        (1, "answered", ONION, "4주 앞 예측의 오차는 7.8%이다.", "DEMO-AGR-002"),
        (2, "open", GROUNDWATER, "", ""),
        (2, "unanswered", GROUNDWATER, "", ""),
    ]
    assert [node.docids[0] for node in _steps(events) if node.docids] == ["DEMO-AGR-002", "DEMO-OCE-002"]
    (ranking,) = [event for event in events if isinstance(event, Ranking)]
    assert {"DEMO-AGR-002", "DEMO-OCE-002"} <= {ranked.record.docid for ranked in ranking.records[:3]}
    assert f"단계 1: {ONION}\n풀이: 4주 앞 예측의 오차는 7.8%이다." in model.streams[0]
    assert [event.stage for event in events if isinstance(event, ModelCall)] == [
        *["keywords"] * 2,
        *["query", "step"] * 2,
        "query",
        "answer",
    ]


@pytest.mark.parametrize("said", [BOTH, BOTH.upper(), "…", ""])
def test_self_ask_ends_at_a_follow_up_that_is_empty_or_the_question(demo: Engine, said: str) -> None:
    model = ScriptFile("iterative")
    model.say("followup", f'{{"follow_up": "{said}"}}')
    events = _events(demo, "self-ask", model)
    assert not _steps(events)
    assert _answer(events).kind == "generated"


def test_self_ask_ends_at_a_repeated_follow_up(demo: Engine) -> None:
    model = ScriptFile("iterative")
    model.say("followup", f'{{"follow_up": "{ONION}"}}')
    events = _events(demo, "self-ask", model)
    assert {node.number for node in _steps(events)} == {1}


def test_previous_context_searches_by_each_thought_until_the_last(demo: Engine) -> None:
    model = ScriptFile("iterative")
    events = _events(demo, "previous-context", model)
    assert [name for name in model.asked if name != "keywords"] == ["thought"] * 3
    first, second, third = (
        "LSTM의 양파 도매가격 예측 오차는 7.8%이다.",
        "이제 LSTM의 지하수위 예측 효율을 알아야 한다.",
        "두 예측 모두 LSTM이 다른 모형보다 나았다.",
    )
    assert [(node.number, node.state, node.question, node.query) for node in _steps(events)] == [
        (1, "open", first, ""),
        (1, "answered", first, first),
        (2, "open", second, ""),
        (2, "answered", second, second),
        (3, "answered", third, ""),
    ]
    records = [text for prompt, text in model.told if prompt == "thought"]
    assert "지금까지 추론한 문장:\n–" in records[0]
    assert f"지금까지 추론한 문장:\n{first}\n{second}" in records[2]
    assert f"{first}\n{second}\n{third}" in model.streams[0]


@pytest.mark.parametrize("strategy", ["self-ask", "previous-context"])
def test_a_model_that_never_ends_is_stopped_after_the_most_turns(demo: Engine, strategy: str) -> None:
    model = ScriptFile("iterative")
    turns = iter(range(100))
    model.make("followup", lambda: f'{{"follow_up": "LSTM {next(turns)}"}}')
    model.make("thought", lambda: f'{{"thought": "LSTM {next(turns)}", "done": false}}')
    events = _events(demo, strategy, model)
    assert {node.number for node in _steps(events)} == set(range(1, MOST_TURNS + 1))
    assert _answer(events).kind == "generated"


@pytest.mark.parametrize(
    ("strategy", "prompt", "told"),
    [("self-ask", "followup", [("query", "refused")]), ("previous-context", "thought", [("step", "refused")])],
)
def test_a_model_that_fails_ends_the_turns_and_not_the_answer(
    demo: Engine, strategy: str, prompt: str, told: list[tuple[str, str]]
) -> None:
    model = ScriptFile("iterative")
    model.fail(prompt, ModelRefused("Too long."))
    events = _events(demo, strategy, model)
    assert _told(events) == told
    assert not _steps(events)
    assert _answer(events).kind == "generated"


def test_an_unanswered_follow_up_leaves_the_others(demo: Engine) -> None:
    model = ScriptFile("iterative")
    model.fail("solve", ModelRefused("Too long."))
    events = _events(demo, "self-ask", model)
    assert [node.state for node in _steps(events)] == ["open", "unanswered"] * 2
    assert _told(events) == [("step", "refused")] * 2
    assert "단계 1" not in model.streams[0]


@pytest.mark.parametrize("calls", [2, 3])
@pytest.mark.parametrize("steps", [self_ask, previous_context])
def test_an_exhausted_budget_ends_the_turns_and_is_reported_once(demo: Engine, steps: Steps, calls: int) -> None:
    resources = Engine(demo.open_index, model=ScriptFile("iterative")).resources
    request = Request(parse_question(BOTH), 10, answered=True, settings=SearchSettings(calls=calls))
    events = list(PlanStrategy("tried", steps).run(request, resources))
    assert [(event.exhausted, event.allowed) for event in events if isinstance(event, Truncated)] == [("calls", calls)]
    assert _answer(events).kind == "generated"
    assert isinstance(events[-1], Timings)


@pytest.mark.parametrize("strategy", [each.name for each in ITERATIVE])
def test_without_a_model_each_refuses_in_one_sentence(demo: Engine, strategy: str) -> None:
    with pytest.raises(StrategyUnavailable, match=f"strategy {strategy} needs a language model"):
        demo.events(BOTH, strategy=strategy)


@pytest.mark.parametrize("strategy", [each.name for each in ITERATIVE])
def test_a_search_has_the_ranking_of_the_answer(demo: Engine, strategy: str) -> None:
    engine = Engine(demo.open_index, model=ScriptFile("iterative"))
    assert engine.search(BOTH, strategy=strategy).ranking == engine.ask(BOTH, strategy=strategy).search.ranking
