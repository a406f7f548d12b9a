from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from shrag.models.errors import ModelRefused
from shrag.serving.engine import Engine
from shrag.serving.errors import StrategyUnavailable
from shrag.serving.events import Answer, Event, Fallback, ModelCall, Node, Ranking, Truncated
from shrag.serving.request import LONGEST_QUESTION
from tests.support.scripted_models import ScriptFile

BOTH = "LSTM은 양파와 지하수위를 얼마나 잘 예측하는가?"
ONION = "양파 도매가격을 예측한 신경망으로 지하수위를 예측한 효율은 얼마인가?"

Told = tuple[int, int | None, str, str, str]


def _events(demo: Engine, question: str, strategy: str, model: ScriptFile | None = None) -> list[Event]:
    engine = Engine(demo.open_index, model=model)
    return list(engine.events(question, strategy=strategy))


def _nodes(events: Sequence[Event]) -> list[Told]:
    nodes = [event for event in events if isinstance(event, Node)]
    return [(node.number, node.parent, node.kind, node.state, node.question) for node in nodes]


def _ranked(events: Sequence[Event]) -> list[str]:
    (ranking,) = [event for event in events if isinstance(event, Ranking)]
    return [ranked.record.docid for ranked in ranking.records]


def test_decompose_searches_for_the_question_and_each_part(demo: Engine) -> None:
    model = ScriptFile("parts")
    events = _events(demo, BOTH, "decompose", model)
    onion, groundwater = "LSTM의 양파 도매가격 예측 오차는 얼마인가?", "LSTM의 지하수위 예측 효율은 얼마인가?"
    assert _nodes(events) == [
        (0, None, "question", "open", BOTH),
        (1, 0, "part", "open", onion),
        (2, 0, "part", "open", groundwater),
        (0, None, "question", "open", BOTH),
        (1, 0, "part", "answered", onion),
        (2, 0, "part", "answered", groundwater),
        (1, 0, "part", "answered", onion),
        (2, 0, "part", "answered", groundwater),
        (0, None, "question", "answered", BOTH),
    ]
    assert set(_ranked(events)[:2]) == {"DEMO-AGR-002", "DEMO-OCE-002"}
    assert sorted(model.asked) == ["decompose", *["keywords"] * 6, *["respond"] * 2]
    assert [event.stage for event in events if isinstance(event, ModelCall)] == [
        "decompose",
        *["keywords"] * 6,
        *["step"] * 2,
        "answer",
    ]
    (answer,) = [event for event in events if isinstance(event, Answer)]
    assert (answer.kind, answer.citation_precision) == ("generated", 1.0)
    last = [event for event in events if isinstance(event, Node) and event.kind == "part"][-2:]
    assert [(node.answer, node.source) for node in last] == [
        ("오차는 7.8%였다.", "DEMO-AGR-002"),
        ("효율은 0.91이었다.", "DEMO-OCE-002"),
    ]


@pytest.mark.parametrize("strategy", ["decompose", "chain"])
def test_a_node_has_the_records_of_the_first_page_whatever_was_found_behind(demo: Engine, strategy: str) -> None:
    nodes = [event for event in demo.events(BOTH, strategy=strategy, k=3) if isinstance(event, Node) and event.query]
    assert {len(node.docids) for node in nodes} == {3}


@pytest.mark.parametrize("strategy", ["decompose", "chain"])
def test_a_search_alone_asks_for_no_answers_that_only_the_final_one_would_use(demo: Engine, strategy: str) -> None:
    model = ScriptFile("parts" if strategy == "decompose" else "steps")
    Engine(demo.open_index, model).search(BOTH if strategy == "decompose" else ONION, strategy=strategy)
    assert "respond" not in model.asked


def test_a_part_without_an_answer_is_told_as_such(demo: Engine) -> None:
    model = ScriptFile("parts")
    model.say("respond", '{"answer": "", "record": 0}')
    events = _events(demo, BOTH, "decompose", model)
    assert {node[3] for node in _nodes(events)[-3:-1]} == {"unanswered"}
    assert "하위 질문" not in model.streams[0]  # there is nothing to tell


def test_decompose_without_a_model_splits_coordinated_questions_only(demo: Engine) -> None:
    parts = [node for node in _nodes(_events(demo, BOTH, "decompose")) if node[2] == "part"]
    assert [node[4] for node in parts[:2]] == [
        "LSTM은 양파를 얼마나 잘 예측하는가?",
        "LSTM은 지하수위를 얼마나 잘 예측하는가?",
    ]
    one = "LSTM으로 양파 도매가격을 예측하면 오차가 얼마나 줄어드는가?"
    events = _events(demo, one, "decompose")
    assert [node[0] for node in _nodes(events)] == [0, 0, 0]
    assert _ranked(events) == [each.record.docid for each in demo.search(one).ranking.records]


def test_a_decomposition_that_fails_is_done_by_rules_and_reported(demo: Engine) -> None:
    model = ScriptFile("parts")
    model.fail("decompose", ModelRefused("The prompt is too long."))
    events = _events(demo, BOTH, "decompose", model)
    assert [(event.stage, event.cause) for event in events if isinstance(event, Fallback)] == [
        ("decompose", "refused"),
    ]
    assert "LSTM은 양파를 얼마나 잘 예측하는가?" in {node[4] for node in _nodes(events)}


def test_chain_fills_a_slot_with_the_words_of_a_record_that_answer_the_earlier_step(demo: Engine) -> None:
    model = ScriptFile("steps")
    events = _events(demo, ONION, "chain", model)
    steps = [event for event in events if isinstance(event, Node) and event.kind == "step"]
    first, second = "양파 도매가격을 예측한 신경망은 무엇인가?", "[ANS_1]로 지하수위를 예측한 효율은 얼마인가?"
    filled = "long Short-Term memory (LSTM)로 지하수위를 예측한 효율은 얼마인가?"
    assert [(node.number, node.state, node.question, node.needs) for node in steps] == [
        (1, "open", first, ()),
        (2, "open", second, (1,)),
        (1, "answered", first, ()),
        (2, "answered", filled, (1,)),
    ]
    assert (steps[2].answer, steps[2].source) == ("long Short-Term memory (LSTM)", "DEMO-AGR-002")
    assert model.asked.count("span") == 1  # nobody waits for the last step's
    assert model.asked.count("respond") == 1
    assert (steps[3].answer, steps[3].source) == ("효율은 0.91이었다.", "DEMO-OCE-002")
    assert {"DEMO-AGR-002", "DEMO-OCE-002"} <= set(_ranked(events)[:3])


def test_chain_leaves_a_slot_empty_where_no_record_has_the_answer(demo: Engine) -> None:
    for said in ('{"text": "", "record": 0}', '{"text": "transformer networks", "record": 1}'):
        model = ScriptFile("steps")
        model.say("span", said)
        steps = [event for event in _events(demo, ONION, "chain", model) if isinstance(event, Node)]
        first, second = [node for node in steps if node.kind == "step"][2:]
        assert (first.state, first.answer, first.source) == ("unanswered", "", "")
        assert second.question == "로 지하수위를 예측한 효율은 얼마인가?"


def test_a_step_that_is_too_long_with_its_answers_is_searched_for_in_part(demo: Engine) -> None:
    model = ScriptFile("steps")
    first, second = "양파 도매가격을 예측한 신경망은 무엇인가?", " ".join(["[ANS_1]"] * 30) + "의 효율은?"
    model.say("chain", json.dumps({"steps": [first, second]}))
    record = next(each.record for each in demo.search(first) if each.record.docid == "DEMO-AGR-002")
    model.say("span", json.dumps({"text": record.text[:190].strip(), "record": 1}))
    steps = [event for event in _events(demo, ONION, "chain", model) if isinstance(event, Node)]
    assert len([node for node in steps if node.kind == "step"][-1].question) > LONGEST_QUESTION


def test_chain_searches_on_without_an_answer_that_could_not_be_extracted(demo: Engine) -> None:
    model = ScriptFile("steps")
    model.fail("span", ModelRefused("The prompt is too long."))
    events = _events(demo, ONION, "chain", model)
    assert ("step", "refused") in [(event.stage, event.cause) for event in events if isinstance(event, Fallback)]
    assert not [event for event in events if isinstance(event, Truncated)]
    assert _ranked(events)


def test_rewrite_searches_for_the_question_and_its_rewriting(demo: Engine) -> None:
    question = "혹시 LSTM으로 양파의 도매가격을 예측하면 그 오차가 얼마나 되는지 알 수 있을까요?"
    events = _events(demo, question, "rewrite", ScriptFile("rewrite"))
    assert [node[2:4] for node in _nodes(events)] == [
        ("question", "open"),
        ("question", "open"),
        ("rewrite", "open"),
        ("rewrite", "answered"),
        ("question", "unanswered"),
    ]
    assert _ranked(events)[0] == "DEMO-AGR-002"


def test_rewrite_reads_the_best_records_of_a_first_search(demo: Engine) -> None:
    model = ScriptFile("rewrite")
    _events(demo, ONION, "rewrite", model)
    assert model.asked == ["keywords", "keywords", "rewrite", "keywords", "keywords"]
    ((_, said),) = [each for each in model.told if each[0] == "rewrite"]
    assert said.count("⟦문헌") == 3
    assert said.endswith(f"질문: {ONION}")


def test_rewrite_needs_a_model_and_says_so_before_any_event(demo: Engine) -> None:
    with pytest.raises(StrategyUnavailable, match="rewrite needs a language model"):
        demo.events(BOTH, strategy="rewrite")
    assert "rewrite" not in demo.strategies
    assert {"decompose", "chain"} <= set(demo.strategies)
