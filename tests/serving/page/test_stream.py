from __future__ import annotations

from typing import get_args

import pytest
from markupsafe import escape

from shrag.corpora.records import Record
from shrag.indexing.record_filter import NO_FACETS
from shrag.models.errors import ModelUnavailable
from shrag.serving.engine import Engine
from shrag.serving.errors import QuestionError
from shrag.serving.event_run import EventRun
from shrag.serving.events import (
    Answer,
    AnswerSentence,
    Authors,
    Citation,
    Event,
    Facets,
    Fallback,
    FollowUp,
    Hits,
    Keywords,
    ModelCall,
    Node,
    Queries,
    RankedRecord,
    Ranking,
    ScoredDoc,
    Sentence,
    Timings,
    Truncated,
)
from shrag.serving.page.rendering import render_page
from shrag.serving.page.request import PageRequest
from shrag.serving.page.state import PageState
from shrag.serving.page.stream import Complete, Fragment, PageEvent, PageStream, Progress, page_events
from shrag.serving.request import parse_request
from tests.support.scripted_models import Line, ScriptedModel, ScriptFile, listed

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"
HOPS = "양파 도매가격을 예측한 신경망은 지하수위를 얼마나 잘 예측하나?"
ASKED = PageRequest(QUESTION, "ko")
WRITTEN = "##제목##\n<b>갈등</b>\n##본론##\n재택근무 일수와 갈등의 관계를 분석하였다 [1]. 갈등은 987% 커졌다 [1]."


def _events(engine: Engine, asked: PageRequest = ASKED) -> list[PageEvent]:
    return list(_page(engine, asked))


def _page(engine: Engine, asked: PageRequest) -> EventRun[PageEvent]:
    request = parse_request(asked.question or "", answered=True, k=asked.k, strategy=asked.strategy, facets=True)
    return page_events(engine.run(request), engine, asked, request.question)


def _engine(demo: Engine, *answer: Line) -> Engine:
    return Engine(demo.open_index, ScriptedModel(listed("재택근무", "갈등"), listed("work"), answer))


def _html(events: list[PageEvent], region: str) -> list[str]:
    return [event.html for event in events if isinstance(event, Fragment) and event.region == region]


def test_the_page_grows_from_keywords_to_records_to_sentences_to_the_whole_answer(demo: Engine) -> None:
    events = _events(_engine(demo, WRITTEN))
    order = [event.region if isinstance(event, Fragment) else event.event for event in events]
    assert order == [
        "trace", "progress", "trace", "progress", "trace", "progress", "records",
        "draft", "draft", "draft", "answer", "records", "trace", "complete",
    ]  # fmt: skip
    title, first, second = _html(events, "draft")
    assert '<section data-part="title">' in title
    assert "&lt;b&gt;갈등&lt;/b&gt;" in title
    assert '<section data-part="body">' in first
    assert "<h3>본론</h3>" in first
    assert '<span class="mark">[1]</span>' in first
    assert "<section" not in second
    assert 'class="unsupported"' in second
    assert events[-1] == Complete("답변이 완료되었습니다.")


@pytest.mark.parametrize("answer", [(), (WRITTEN,), (WRITTEN, ModelUnavailable("away"))])
def test_the_last_fragments_are_those_of_the_page_sent_whole(demo: Engine, answer: tuple[Line, ...]) -> None:
    engine = _engine(demo, *answer) if answer else demo
    page = render_page(engine, ASKED)
    events = _events(engine)
    assert _html(events, "answer")[-1] in page
    assert _html(events, "records")[-1] in page


def test_a_model_that_goes_away_takes_its_draft_with_it(demo: Engine) -> None:
    events = _events(_engine(demo, WRITTEN, " 끝 [1]. 끝 [1]. 끝 [1].", ModelUnavailable("away")))
    (restart,) = (place for place, event in enumerate(events) if isinstance(event, Progress) and event.discard_draft)
    assert events[restart] == Progress("답변: 언어 모델이 응답하지 않아 모델 없이 처리했습니다.", discard_draft=True)
    assert "<section" in _html(events[:restart], "draft")[0]
    assert "<section" in _html(events[restart:], "draft")[0]
    assert "extractive" in _html(events, "answer")[0]


def test_a_tree_grows_question_by_question_and_ends_as_the_whole_page_has_it(demo: Engine) -> None:
    asked = PageRequest(HOPS, "ko", strategy="tree")
    engine = Engine(demo.open_index, ScriptFile("tree"))
    events = _events(engine, asked)
    order = [event.region if isinstance(event, Fragment) else event.event for event in events]
    assert order == [
        *("tree", "tree"),  # the reader's question: as it is asked, and as one search leaves it
        *("node", "progress", "node", "progress"),  # two that it grows
        *("node", "progress", "node", "progress"),  # both answered
        *("node", "trace", "progress", "trace", "progress", "trace", "progress", "records"),
        *("draft", "draft", "draft", "draft"),
        *("answer", "node", "tree", "records", "trace", "complete"),
    ]  # fmt: skip
    said = [event.message for event in events if isinstance(event, Progress)]
    assert said[:4] == [f"하위 질문 {count}개 중 {done}개 처리." for count, done in ((1, 0), (2, 0), (2, 1), (2, 2))]
    grown = _html(events, "node")
    assert '<span class="slot" lang="ko">[1번의 답변]</span>의 지하수위' in grown[1]
    assert "long short-term memory (LSTM)의 지하수위" in grown[3]
    assert all('data-parent="0"' in html and html.count("<li ") == 1 for html in grown[:4])
    page = render_page(Engine(demo.open_index, ScriptFile("tree")), asked)
    for region in ("tree", "records", "answer"):
        assert _html(events, region)[-1] in page, region


@pytest.mark.parametrize(
    ("strategy", "script", "says"),
    [
        ("decompose", "parts", ["부분", "LSTM의 양파 도매가격 예측 오차는 얼마인가?"]),
        ("chain", "steps", ["단계", "long Short-Term memory (LSTM)로 지하수위를 예측한 효율은 얼마인가?"]),
        ("rewrite", "rewrite", ["쉽게 바꾼 질문", "LSTM 양파 도매가격 예측 오차"]),
        ("raise", "raise", ["단계", "4주 앞 예측의 오차는 7.8%이다.", "weekly wholesale onion prices", "DEMO-AGR-002"]),
        ("pipeline-8", "pipelines", ["추가 검색식", "onion price forecasting LSTM", "ARIMA의 13.1%보다 작다."]),
        ("pipeline-4", "pipelines", ["가상 답변", "기상 변수를 빼면 오차가 커진다."]),
    ],
)
def test_the_questions_of_every_strategy_that_plans_are_drawn_alike(
    demo: Engine, strategy: str, script: str, says: list[str]
) -> None:
    question = "LSTM은 양파와 지하수위를 얼마나 잘 예측하는가?"
    asked = PageRequest(question, "ko", strategy=strategy)
    engine = Engine(demo.open_index, ScriptFile(script))
    tree = _html(_events(engine, asked), "tree")[-1]
    assert [text for text in says if text not in tree] == []
    assert "처리 중" not in tree


@pytest.mark.slow
def test_every_strategy_has_a_page_with_a_model_that_fails_and_without_one(demo: Engine) -> None:
    away = ScriptedModel(ModelUnavailable("away"), ModelUnavailable("away"), (ModelUnavailable("away"),))
    failing = Engine(demo.open_index, away)
    for engine in (demo, failing):
        for strategy in engine.strategies:
            page = render_page(engine, PageRequest(QUESTION, "en", strategy=strategy))
            assert '<aside class="trace"' in page, strategy
    page = render_page(failing, PageRequest(QUESTION, "en", strategy="tree"))
    for purpose in ("queries", "short answers", "answer"):
        assert page.count(f"<li>{purpose}: The language model does not answer") == 1


def test_an_answer_from_memory_is_not_said_to_be_checked(demo: Engine) -> None:
    engine = Engine(demo.open_index, ScriptFile("raise"))
    page = render_page(engine, PageRequest("LSTM은 양파와 지하수위를 얼마나 잘 예측하는가?", "en", strategy="cot"))
    assert "Closed-book answer" in page
    assert "Nothing in it was checked." in page
    assert "Every sentence was checked" not in page
    assert "Records cited" not in page


_RECORD = Record("A#1", "t", "x", "en", complete=True)
_DRAWN: dict[Event, list[str]] = {
    FollowUp("q film", ("film",)): [],  # drawn with the answer
    Authors(("Ann",), 1, "first"): [],  # drawn with the answer
    Keywords((), ()): ["trace", "progress"],
    Queries((("a",),)): [],  # drawn with the hits
    Hits(((ScoredDoc("A", 1.0),),), ("A",), ()): ["trace", "progress"],
    Ranking((RankedRecord(1, 1, 1.0, _RECORD),), "r", reranker_is_model=False): ["trace", "progress"],
    Facets(NO_FACETS): ["records"],
    AnswerSentence("body", Sentence("s", (1,))): ["draft"],
    Answer("extractive", "en", (), ()): ["answer"],
    ModelCall("evaluate", "m", 1, 2, 0.1, 0.1): [],  # drawn with the whole trace
    Fallback("step", "refused", "no"): ["progress"],
    Node(0, None, "question", "q"): ["tree"],
    Node(1, 0, "part", "q"): ["node", "progress"],
    Truncated("calls", 1): ["tree"],
}


def test_the_title_of_a_quoted_record_is_cut_in_the_draft_as_in_the_answer(demo: Engine) -> None:
    stream = PageStream(demo, ASKED, PageState(QUESTION, "ko"))
    for title, heading in (("제" * 301, "제" * 299 + "…"), ("제" * 300, "제" * 300), ("", "A#1")):
        sentence = AnswerSentence("record", Sentence("맞다.", (1,)), Citation(1, "A#1", title))
        (draft,) = _html(list(stream.translate(sentence)), "draft")
        assert f"<h3>{heading}</h3>" in draft


def test_every_kind_of_event_is_drawn_or_deliberately_passed_over(demo: Engine) -> None:
    events = [*_DRAWN, Timings({"search": 0.1})]
    assert {type(event) for event in events} == set(get_args(Event))
    stream = PageStream(demo, PageRequest("q", "en"), PageState("q", "en"))
    shown = [piece for event in events for piece in stream.translate(event)]
    expected = [each for drawn in _DRAWN.values() for each in drawn] + ["tree", "records", "trace", "complete"]
    assert [event.region if isinstance(event, Fragment) else event.event for event in shown] == expected
    trace = _html(shown, "trace")[-1]
    assert "judging answers <b>calls: 1 · tokens: 3 · 100 ms</b>" in trace


def test_nothing_found_is_a_page_too(demo: Engine) -> None:
    events = _events(demo, PageRequest("zzzz qqqq", "en"))
    assert "None of the question&#39;s words is in a title or abstract of this index" in _html(events, "answer")[0]
    assert [html.strip() for html in _html(events, "records")] == ["", ""]
    assert isinstance(events[-1], Complete)


def test_cancelling_lets_the_model_go(demo: Engine) -> None:
    engine = _engine(demo, WRITTEN, *["다음 문장이다 [1]. "] * 100)
    stream = _page(engine, ASKED)
    for event in stream:
        if isinstance(event, Fragment) and event.region == "draft":
            break
    stream.close()
    assert isinstance(engine.model, ScriptedModel)
    assert engine.model.streams[0].closed
    assert list(stream) == []


def test_a_question_that_cannot_be_read_begins_no_stream(demo: Engine) -> None:
    with pytest.raises(QuestionError):
        _events(demo, PageRequest(None, "ko"))


def test_records_left_out_are_named_by_their_titles_which_open_their_pages(demo: Engine) -> None:
    stream = PageStream(demo, ASKED, PageState(QUESTION, "ko"))
    hits = Hits((), ("DEMO-SOC-012",), ("DEMO-AI-005", "<gone>"))
    (trace,) = _html(list(stream.translate(hits)), "trace")
    (known,) = demo.open_index.store.fetch(["DEMO-AI-005"])
    assert known is not None
    assert f'<a href="{escape(ASKED.record_url("DEMO-AI-005"))}"' in trace
    assert f"<bdi>{escape(known.record.title)}</bdi></a>" in trace
    assert "<bdi>&lt;gone&gt;</bdi></a>" in trace
