from __future__ import annotations

import json
from collections.abc import Sequence

from shrag.models.errors import ModelRefused
from shrag.serving.engine import Engine
from shrag.serving.events import Answer, Event, Fallback, ModelCall, Node, Ranking, Timings, Truncated
from shrag.serving.request import Request, parse_question
from shrag.serving.search_settings import PRODUCT, SearchSettings
from shrag.serving.strategies.tree.search import TREE
from tests.support.scripted_models import ScriptFile

QUESTION = "양파 도매가격을 예측한 신경망은 지하수위를 얼마나 잘 예측하나?"
FIRST = "양파 도매가격을 예측한 신경망은 무엇인가?"
FILLED = "long short-term memory (LSTM)의 지하수위 예측 효율은 얼마인가?"


def _run(
    demo: Engine,
    model: ScriptFile | None,
    settings: SearchSettings = PRODUCT,
    question: str = QUESTION,
) -> list[Event]:
    resources = Engine(demo.open_index, model=model).resources
    request = Request(parse_question(question), 10, answered=True, settings=settings)
    return list(TREE.run(request, resources))


def _nodes(events: Sequence[Event]) -> list[Node]:
    return [event for event in events if isinstance(event, Node)]


def _last(events: Sequence[Event]) -> dict[int, Node]:
    return {node.number: node for node in _nodes(events)}


def _cut(events: Sequence[Event]) -> list[tuple[str, float]]:
    return [(event.exhausted, event.allowed) for event in events if isinstance(event, Truncated)]


def test_a_tree_passes_the_answer_of_one_question_to_the_next_and_answers_the_root_again(demo: Engine) -> None:
    model = ScriptFile("tree")
    events = _run(demo, model)
    assert [(node.number, node.parent, node.kind, node.state, node.needs) for node in _nodes(events)] == [
        (0, None, "question", "open", ()),
        (0, None, "question", "unanswered", ()),
        (1, 0, "bridging", "open", ()),
        (2, 0, "bridging", "open", (1,)),
        (1, 0, "bridging", "answered", ()),
        (2, 0, "bridging", "answered", (1,)),
        (0, None, "question", "answered", ()),
        (0, None, "question", "answered", ()),
    ]
    last = _last(events)
    assert [last[number].question for number in (0, 1, 2)] == [QUESTION, FIRST, FILLED]
    assert (last[1].query, last[1].answer, last[1].source) == (
        "onion wholesale price forecasting network",
        "장단기 기억 신경망(LSTM)이다.",
        "DEMO-AGR-002",
    )
    assert len(last[1].docids) == 3
    judged = last[0].assessment
    assert judged is not None
    assert (judged.coherence, judged.answerability, judged.overall, judged.valid, judged.judge) == (
        9,
        90,
        9.05,
        True,
        "scripted",
    )
    (ranking,) = [event for event in events if isinstance(event, Ranking)]
    assert {ranked.record.docid for ranked in ranking.records[:3]} >= {"DEMO-AGR-002", "DEMO-OCE-002"}
    (answer,) = [event for event in events if isinstance(event, Answer)]
    assert answer.kind == "generated"
    assert _cut(events) == []
    assert f"하위 질문 1: {FIRST}\n답변: 장단기 기억 신경망(LSTM)이다. [" in model.streams[0]
    assert f"하위 질문 2: {FILLED}\n답변: 효율은 0.91이다. [" in model.streams[0]


def test_every_call_of_a_tree_has_its_purpose(demo: Engine) -> None:
    calls = [event.stage for event in _run(demo, ScriptFile("tree")) if isinstance(event, ModelCall)]
    assert calls == [
        *("query", "step", "evaluate"),
        "decompose",
        *("query", "step", "evaluate", "step"),  # the first of two, whose words the second waits for
        *("query", "step", "evaluate"),
        *("step", "evaluate"),  # the reader's question again
        "answer",
    ]


def test_a_question_that_one_search_answers_gets_no_children(demo: Engine) -> None:
    model = ScriptFile("tree")
    model.say("evaluate", '{"coherence": 10, "answerability": 100, "valid": true}')
    events = _run(demo, model)
    assert [node.number for node in _nodes(events)] == [0, 0, 0]
    assert sorted(model.asked) == ["evaluate", "query", "respond"]


def test_a_tree_without_valid_answers_ends_at_its_greatest_depth_or_number_of_nodes(demo: Engine) -> None:
    model = ScriptFile("tree")
    model.say("evaluate", '{"coherence": 1, "answerability": 0, "valid": false}')
    model.say("query", '{"query": "onion price"}')
    questions = iter(range(10_000))
    model.make("branch", lambda: f'{{"kind": "hybrid", "questions": ["A {next(questions)}", "B {next(questions)}"]}}')
    deep = _run(demo, model, SearchSettings(tree_depth=3))
    assert max(_last(deep)) == 6  # 1 + 2 + 4 questions
    assert _cut(deep) == [("depth", 3)]
    wide = _run(demo, model, SearchSettings(tree_depth=8, tree_nodes=8))
    assert max(_last(wide)) == 7
    assert ("nodes", 8) in _cut(wide)
    for events in (deep, wide):
        assert isinstance(events[-1], Timings)
        assert len([event for event in events if isinstance(event, Ranking)]) == 1
        assert _last(events)[0].state in ("answered", "unanswered")


def test_settings_limit_a_tree(demo: Engine) -> None:
    model = ScriptFile("tree")
    model.say("evaluate", '{"coherence": 1, "answerability": 0, "valid": false}')
    model.say("query", '{"query": "onion price"}')
    questions = iter(range(10_000))
    model.make("branch", lambda: json.dumps({"kind": "hybrid", "questions": [f"A {next(questions)}" for _ in "123"]}))
    settings = {"tree_depth": 3, "tree_nodes": 9, "tree_children": 2, "step_records": 2, "calls": 40, "seconds": 60}
    engine = Engine(demo.open_index, model=model)
    found = engine.ask(QUESTION, strategy="tree", settings=SearchSettings.from_mapping(settings)).search
    assert len(found.nodes) == 7  # 1 + 2 + 4 questions
    assert {len(node.docids) for node in found.nodes[1:]} == {2}
    assert [(cut.exhausted, cut.allowed) for cut in found.truncated] == [("depth", 3)]
    shallow = engine.ask(QUESTION, strategy="tree", settings=SearchSettings(tree_depth=1, calls=2)).search
    assert [(cut.exhausted, cut.allowed) for cut in shallow.truncated] == [("calls", 2)]
    assert len(shallow.nodes) == 1


def test_children_that_repeat_the_question_are_dropped(demo: Engine) -> None:
    model = ScriptFile("tree")
    model.say("evaluate", '{"coherence": 1, "answerability": 0, "valid": false}')
    model.say("branch", f'{{"kind": "hybrid", "questions": ["{QUESTION}"]}}')
    assert set(_last(_run(demo, model))) == {0}


def test_slots_for_later_siblings_are_removed(demo: Engine) -> None:
    model = ScriptFile("tree")
    model.say("branch", '{"kind": "bridging", "questions": ["[ANS_2]의 값", "[ANS_1]의 값과 [ANS_2]"]}')
    last = _last(_run(demo, model))
    assert [last[number].needs for number in (1, 2)] == [(), (1,)]
    assert all(node.state != "open" for node in last.values())


def test_a_tree_with_an_exhausted_budget_still_answers_and_reports_it(demo: Engine) -> None:
    events = _run(demo, ScriptFile("tree"), SearchSettings(calls=6))
    assert _cut(events) == [("calls", 6)]
    (answer,) = [event for event in events if isinstance(event, Answer)]
    assert answer.kind == "generated"  # the answer is owed whatever has run out
    nothing = _run(demo, ScriptFile("tree"), SearchSettings(calls=0))
    assert _cut(nothing) == [("calls", 0)]
    assert _last(nothing)[0].state == "answered"


def test_a_step_in_which_the_model_fails_is_done_by_rules(demo: Engine) -> None:
    for prompt, stage in (("query", "query"), ("respond", "step"), ("evaluate", "evaluate"), ("branch", "decompose")):
        model = ScriptFile("tree")
        model.fail(prompt, ModelRefused("The prompt is too long."))
        events = _run(demo, model)
        assert stage in {event.stage for event in events if isinstance(event, Fallback)}, prompt
        assert isinstance(events[-1], Timings)


def test_without_a_model_a_tree_assesses_by_shared_words_and_splits_coordinated_questions(demo: Engine) -> None:
    answered = _run(demo, None, question="What was the mean absolute percentage error of LSTM at four weeks?")
    (root,) = _last(answered).values()
    assert root.assessment is not None
    assert (root.assessment.valid, root.assessment.judge) == (True, "")
    assert root.answer.startswith("At four weeks the mean absolute percentage error of LSTM was 7.8%")
    joined = _last(_run(demo, None, question="양파와 마늘의 도매가격은 어떻게 예측하는가?"))
    assert [(joined[number].kind, joined[number].question) for number in (1, 2)] == [
        ("comparison", "양파의 도매가격은 어떻게 예측하는가?"),
        ("comparison", "마늘의 도매가격은 어떻게 예측하는가?"),
    ]
