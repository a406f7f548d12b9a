from __future__ import annotations

from collections.abc import Sequence

import pytest

from shrag.models.errors import InvalidOutput, ModelRefused
from shrag.models.language_model import LanguageModel
from shrag.serving import concurrency
from shrag.serving.concurrency import ProcessorShare
from shrag.serving.engine import Engine
from shrag.serving.errors import StrategyUnavailable
from shrag.serving.events import (
    Answer,
    Event,
    Fallback,
    Hits,
    Keywords,
    ModelCall,
    Node,
    Queries,
    Ranking,
    Timings,
    Truncated,
)
from shrag.serving.request import Question, Request, parse_question
from shrag.serving.search_settings import Candidates, SearchSettings
from shrag.serving.strategies.planning import subquery
from shrag.serving.strategies.planning.subquery import SubqueryResult
from shrag.serving.strategies.stepwise import strategies
from shrag.serving.strategies.stepwise.strategies import StepwiseStrategy
from shrag.serving.strategies.stepwise.variants import VARIANTS
from shrag.serving.strategy import Resources
from tests.support.scripted_models import ScriptFile

BOTH = "LSTM은 양파와 지하수위를 얼마나 잘 예측하는가?"
ONION, GROUNDWATER = "LSTM의 양파 도매가격 예측 오차는 얼마인가?", "LSTM의 지하수위 예측 효율은 얼마인가?"
CHOICES = ("5%", "7.8%", "13.1%")

WITHOUT_RECORDS = ("cot", "least-to-most", "step-back")
WITH_RECORDS = ("raise", "raise-direct", "cot-rag", "least-to-most-rag", "step-back-rag", "hyde")


def _events(
    demo: Engine, strategy: str, model: LanguageModel | None, choices: Sequence[str] = (), question: str = BOTH
) -> list[Event]:
    return list(Engine(demo.open_index, model=model).events(question, strategy=strategy, choices=choices))


def _steps(events: Sequence[Event]) -> list[Node]:
    return [event for event in events if isinstance(event, Node) and event.kind == "step"]


def _last(events: Sequence[Event]) -> dict[int, Node]:
    return {event.number: event for event in events if isinstance(event, Node)}


def _answer(events: Sequence[Event]) -> Answer:
    (answer,) = [event for event in events if isinstance(event, Answer)]
    return answer


def _fallbacks(events: Sequence[Event]) -> list[tuple[str, str]]:
    return [(event.stage, event.cause) for event in events if isinstance(event, Fallback)]


def _said(model: ScriptFile, prompt: str) -> list[str]:
    return [text for name, text in model.told if name == prompt]


def test_raise_searches_by_logical_queries_and_solves_each_step_with_the_earlier_ones(demo: Engine) -> None:
    model = ScriptFile("raise")
    events = _events(demo, "raise", model)
    assert [(node.number, node.state, node.question, node.answer, node.source) for node in _steps(events)] == [
        (1, "open", ONION, "", ""),
        (2, "open", GROUNDWATER, "", ""),
        (1, "answered", ONION, "", ""),
        (2, "answered", GROUNDWATER, "", ""),
        (1, "answered", ONION, "4주 앞 예측의 오차는 7.8%이다.", "DEMO-AGR-002"),
        (2, "answered", GROUNDWATER, "효율은 0.91이다.", ""),  # the record it names was not shown to it
    ]
    last = _last(events)
    assert last[1].query.startswith("A long short-term memory (LSTM) network is trained on weekly wholesale onion")
    assert last[2].query.startswith("An LSTM network is trained on hourly groundwater level data")
    assert (last[1].docids[0], last[2].docids[0]) == ("DEMO-AGR-002", "DEMO-OCE-002")
    assert sorted(model.asked) == sorted(["substeps", *["keywords"] * 2, *["logical"] * 2, *["solve"] * 2])
    first, second = _said(model, "solve")
    assert "앞 단계:\n–" in first
    assert f"단계 1: {ONION}\n풀이: 4주 앞 예측의 오차는 7.8%이다." in second
    assert "큰 질문: " + BOTH in second
    (ranking,) = [event for event in events if isinstance(event, Ranking)]
    assert {ranked.record.docid for ranked in ranking.records[:3]} >= {"DEMO-AGR-002", "DEMO-OCE-002"}
    answer = _answer(events)
    assert (answer.kind, answer.citation_precision, answer.choice) == ("generated", 1.0, "")
    assert "효율은 0.91이다." in model.streams[0]
    assert [event.stage for event in events if isinstance(event, ModelCall)] == [
        "decompose",
        *["keywords"] * 2,
        *["query"] * 2,
        *["step"] * 2,
        "answer",
    ]
    assert last[0].state == "answered"


def test_records_below_the_learnt_threshold_are_not_shown_to_a_step(
    demo: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    filtered = _last(_events(demo, "raise", ScriptFile("raise")))
    monkeypatch.setattr(strategies, "learnt_threshold", lambda *_: 0.0)
    kept = _last(_events(demo, "raise", ScriptFile("raise")))
    assert (len(kept[1].docids), len(kept[2].docids)) == (10, 10)
    assert 1 <= len(filtered[1].docids) < 10
    assert kept[1].docids[: len(filtered[1].docids)] == filtered[1].docids
    monkeypatch.setattr(strategies, "learnt_threshold", lambda *_: 1.0)
    model = ScriptFile("raise")
    model.say("logical", '{"explanation": "zzzz qqqq"}')
    none = _last(_events(demo, "raise", model))
    assert (none[1].docids, none[1].state, none[1].answer, none[1].source) == (
        (),
        "answered",
        "4주 앞 예측의 오차는 7.8%이다.",
        "",
    )


@pytest.mark.parametrize(
    ("strategy", "asked", "queries"),
    [
        ("raise-direct", ["logical", "solve"], ["A long short-term memory (LSTM)"]),
        ("cot-rag", ["solve"], [BOTH]),
        ("least-to-most-rag", ["substeps", "solve", "solve"], [ONION, GROUNDWATER]),
        (
            "step-back-rag",
            ["substeps", "principle", "principle", "solve", "solve"],
            ["시계열의 오차는", "groundwater level forecasting"],
        ),
        (
            "hyde",
            ["substeps", "passage", "passage", "solve", "solve"],
            ["Weekly onion wholesale prices", "Groundwater levels in boreholes"],
        ),
    ],
)
def test_each_baseline_with_records_searches_by_its_own_queries(
    demo: Engine, strategy: str, asked: list[str], queries: list[str]
) -> None:
    model = ScriptFile("raise")
    events = _events(demo, strategy, model)
    assert [name for name in model.asked if name != "keywords"] == asked
    last = _last(events)
    assert [last[number].query.startswith(query) for number, query in enumerate(queries, 1)] == [True] * len(queries)
    assert len(last) == len(queries) + 1
    assert all(last[number].docids for number in last)
    answer = _answer(events)
    assert (answer.kind, answer.reason, bool(answer.citations)) == ("generated", "", True)
    assert not any("원리: 시계열" in text for text in _said(model, "solve"))


@pytest.mark.parametrize(
    ("strategy", "asked"),
    [
        ("cot", ["solve"]),
        ("least-to-most", ["substeps", "solve", "solve"]),
        ("step-back", ["substeps", "principle", "principle", "solve", "solve"]),
    ],
)
def test_baselines_without_records_cite_nothing_and_say_so(demo: Engine, strategy: str, asked: list[str]) -> None:
    model = ScriptFile("raise")
    events = _events(demo, strategy, model)
    assert model.asked == asked
    kinds = [type(event) for event in events if type(event) in (Keywords, Queries, Hits, Ranking, Answer, Timings)]
    assert kinds == [Keywords, Queries, Hits, Ranking, Answer, Timings]
    (ranking,) = [event for event in events if isinstance(event, Ranking)]
    assert (ranking.records, ranking.reason) == ((), "not_searched")
    answer = _answer(events)
    assert (answer.kind, answer.citations, answer.citation_precision, answer.reason) == ("closed_book", (), None, "")
    sentences = [each for section in answer.sections if section.part != "title" for each in section.sentences]
    assert len(sentences) == 3
    assert {(each.citations, each.supported, each.issue) for each in sentences} == {((), False, "no_citation")}
    assert all(not node.docids for node in _last(events).values())
    assert "⟦" not in "".join(text for _, text in model.told)
    told = [("What lies" in text or "시계열의 오차는" in text) for text in _said(model, "solve")]
    assert told[0] == (strategy == "step-back")


@pytest.mark.parametrize("strategy", [*WITH_RECORDS, *WITHOUT_RECORDS])
def test_a_question_with_choices_is_answered_by_one_of_them(demo: Engine, strategy: str) -> None:
    model = ScriptFile("raise")
    events = _events(demo, strategy, model, CHOICES)
    answer = _answer(events)
    assert answer.choice == "B"
    assert bool(answer.citations) == (strategy in WITH_RECORDS)
    (asked,) = _said(model, "choose")
    assert "선택지:\nA. 5%\nB. 7.8%\nC. 13.1%" in asked
    assert "효율은 0.91이다." in asked or "단계 2" not in asked
    assert "고른 선택지: B. 7.8%" in model.streams[0]
    for prompt in ("substeps", "solve"):
        assert all("C. 13.1%" in text for text in _said(model, prompt))


def test_a_newline_behind_the_letter_is_no_part_of_the_choice(demo: Engine) -> None:
    model = ScriptFile("raise")
    model.say("choose", '{"reasoning": "", "choice": "B\\n"}')
    assert _answer(_events(demo, "cot", model, CHOICES)).choice == "B"


def test_a_letter_without_a_choice_is_invalid(demo: Engine) -> None:
    model = ScriptFile("raise")
    model.say("choose", '{"reasoning": "", "choice": "D"}')
    events = _events(demo, "cot", model, CHOICES)
    assert _answer(events).choice == ""
    assert _fallbacks(events) == [("answer", "invalid_output")]
    assert _answer(events).sections


def test_choices_are_made_by_the_model_or_by_the_words_of_the_answer(demo: Engine) -> None:
    model = ScriptFile("raise")
    assert _answer(_events(demo, "shrag", model, CHOICES)).choice == "B"
    question = "How long should a lecture video be?"
    plain = demo.ask(question, choices=["yes", "no", "maybe"]).answer
    assert (plain.choice, plain.kind) == ("", "extractive")


def test_steps_that_the_model_cannot_plan_are_made_by_rules(demo: Engine) -> None:
    model = ScriptFile("raise")
    model.fail("substeps", ModelRefused("The prompt is too long."))
    model.say("logical", '{"explanation": "LSTM forecasts"}')
    events = _events(demo, "raise", model)
    assert _fallbacks(events) == [("decompose", "refused")]
    assert [node.question for node in _steps(events)[:2]] == [
        "LSTM은 양파를 얼마나 잘 예측하는가?",
        "LSTM은 지하수위를 얼마나 잘 예측하는가?",
    ]


@pytest.mark.parametrize(("step_records", "shown"), [(0, 10), (5, 5)])
def test_a_step_is_solved_from_ten_records_as_in_the_paper_or_from_as_many_as_set(
    demo: Engine, step_records: int, shown: int
) -> None:
    model = ScriptFile("raise")
    settings = SearchSettings(step_records=step_records, steps=1)
    engine = Engine(demo.open_index, model=model)
    found = engine.ask(BOTH, strategy="least-to-most-rag", settings=settings, k=20).search
    assert [node.number for node in found.nodes] == [0, 1]
    (prompt,) = [said for name, said in model.told if name == "solve"]
    assert prompt.count("⟦끝 ") == shown


def test_where_no_logical_query_is_made_the_search_query_is_used(demo: Engine) -> None:
    for said in (None, '{"explanation": "…"}'):
        model = ScriptFile("raise")
        if said is None:
            model.fail("logical", InvalidOutput("It wrote no JSON."))
        else:
            model.say("logical", said)
        events = _events(demo, "raise", model)
        last = _last(events)
        assert (last[1].query, last[2].query) == ("onion price forecast error", "groundwater level efficiency")
        assert _fallbacks(events) == ([("query", "invalid_output")] * 2 if said is None else [])


def test_an_unsolved_step_leaves_the_other_steps_and_the_answer(demo: Engine) -> None:
    model = ScriptFile("raise")
    model.fail("solve", ModelRefused("The prompt is too long."))
    events = _events(demo, "raise", model)
    assert [_last(events)[number].state for number in (0, 1, 2)] == ["answered", "unanswered", "unanswered"]
    assert _fallbacks(events) == [("step", "refused")] * 2
    assert _answer(events).kind == "generated"


def test_a_closed_book_answer_that_fails_is_a_refusal(demo: Engine) -> None:
    for text in ("", "##답변불가##", "…"):
        model = ScriptFile("raise")
        model.write(text)
        events = _events(demo, "cot", model, CHOICES)
        answer = _answer(events)
        assert (answer.kind, answer.reason, answer.sections, answer.choice) == ("closed_book", "not_searched", (), "B")
        assert _fallbacks(events) == ([] if "##" in text else [("answer", "invalid_output")])
        assert _last(events)[0].state == "unanswered"


def test_an_exhausted_budget_is_reported_once_and_the_answer_still_written(demo: Engine) -> None:
    model = ScriptFile("raise")
    strategy = StepwiseStrategy(VARIANTS[0])
    resources = Engine(demo.open_index, model=model).resources
    request = Request(parse_question(BOTH), 10, answered=True, settings=SearchSettings(calls=3))
    events = list(strategy.run(request, resources))
    assert [(event.exhausted, event.allowed) for event in events if isinstance(event, Truncated)] == [("calls", 3)]
    assert len(model.asked) == 3
    assert _answer(events).kind == "generated"


def test_a_search_solves_no_step_and_has_the_ranking_of_the_answer(demo: Engine) -> None:
    for strategy in (*WITH_RECORDS, *WITHOUT_RECORDS):
        model = ScriptFile("raise")
        model.say("logical", '{"explanation": "LSTM forecasts"}')
        engine = Engine(demo.open_index, model=model)
        searched = engine.search(BOTH, strategy=strategy)
        assert "solve" not in model.asked
        assert searched.ranking == engine.ask(BOTH, strategy=strategy).search.ranking
    assert model.asked[0] == "substeps"  # nothing was asked of it for the search that looks nothing up


def test_without_a_model_raise_splits_coordinated_questions_and_the_others_refuse(demo: Engine) -> None:
    events = _events(demo, "raise", None)
    assert [(node.number, node.state, node.question) for node in _steps(events)] == [
        (1, "open", "LSTM은 양파를 얼마나 잘 예측하는가?"),
        (2, "open", "LSTM은 지하수위를 얼마나 잘 예측하는가?"),
        (1, "answered", "LSTM은 양파를 얼마나 잘 예측하는가?"),
        (2, "answered", "LSTM은 지하수위를 얼마나 잘 예측하는가?"),
    ]
    assert _answer(events).kind == "extractive"
    for name in (*WITH_RECORDS[1:], *WITHOUT_RECORDS):
        with pytest.raises(StrategyUnavailable, match=f"{name} needs a language model"):
            demo.events(BOTH, strategy=name)
    assert set(demo.strategies).isdisjoint({*WITH_RECORDS[1:], *WITHOUT_RECORDS})
    assert "raise" in demo.strategies


def test_the_papers_threshold_needs_the_vectors_of_a_model(demo: Engine) -> None:
    for name in ("raise-0.84", "raise-0.80"):
        with pytest.raises(StrategyUnavailable, match="needs vectors that a model made"):
            demo.events(BOTH, strategy=name)


def test_the_search_beside_the_decomposition_takes_its_turn_on_the_processors(
    demo: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    share = ProcessorShare(1)
    in_turn: list[bool] = []

    def find(question: Question, request: Request, resources: Resources, default: Candidates) -> SubqueryResult:
        in_turn.append(getattr(concurrency._THREAD, "share", None) is share)
        return subquery.find(question, request, resources, default)

    monkeypatch.setattr(strategies, "find", find)
    share.run(lambda: _events(demo, "raise", ScriptFile("raise")))
    assert in_turn == [True]


def test_the_papers_threshold_is_a_cosine_of_the_indexs_vectors(demo: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategies, "model_vectors", lambda index: index.dense)  # LSA's, which no model made
    filtered = _last(_events(demo, "raise-0.80", ScriptFile("raise")))
    kept = _last(_events(demo, "raise", ScriptFile("raise")))
    assert len(filtered[1].docids) < len(kept[1].docids)
