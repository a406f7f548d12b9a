from __future__ import annotations

import pytest

from shrag.models.errors import ModelUnavailable
from shrag.serving.engine import Engine
from shrag.serving.errors import QuestionError
from shrag.serving.page_request import Asked
from shrag.serving.page_stream import PageEvent, PageStream, Piece, Step, Whole
from shrag.serving.rendering import render_page
from tests.serving.scripted import Line, ScriptedModel, listed

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"
ASKED = Asked(QUESTION, "ko")
WRITTEN = "##제목##\n<b>갈등</b>\n##본론##\n재택근무 일수와 갈등의 관계를 분석하였다 [1]. 갈등은 987% 커졌다 [1]."


def _events(engine: Engine, asked: Asked = ASKED) -> list[PageEvent]:
    return list(PageStream(engine.events(asked.question or "", k=asked.k), engine, asked))


def _engine(demo: Engine, *answer: Line) -> Engine:
    return Engine(demo.open_index, ScriptedModel(listed("재택근무", "갈등"), listed("work"), answer))


def _html(events: list[PageEvent], place: str) -> list[str]:
    return [event.html for event in events if isinstance(event, Piece) and event.place == place]


def test_the_page_grows_from_keywords_to_records_to_sentences_to_the_whole_answer(demo: Engine) -> None:
    events = _events(_engine(demo, WRITTEN))
    order = [event.place if isinstance(event, Piece) else event.event for event in events]
    assert order == [
        "way", "step", "way", "step", "way", "records", "step", "draft", "draft", "draft", "answer", "records", "way",
        "whole",
    ]  # fmt: skip
    title, first, second = _html(events, "draft")
    assert '<section data-part="title">' in title
    assert "&lt;b&gt;갈등&lt;/b&gt;" in title
    assert '<section data-part="body">' in first
    assert "<h3>본론</h3>" in first
    assert '<span class="mark">[1]</span>' in first
    assert "<section" not in second
    assert 'class="unsound"' in second
    assert events[-1] == Whole("답변이 끝났습니다.")


@pytest.mark.parametrize("answer", [(), (WRITTEN,), (WRITTEN, ModelUnavailable("away"))])
def test_the_last_pieces_are_those_of_the_page_sent_whole(demo: Engine, answer: tuple[Line, ...]) -> None:
    engine = _engine(demo, *answer) if answer else demo
    page = render_page(engine, ASKED)
    events = _events(engine)
    assert _html(events, "answer")[-1] in page
    assert _html(events, "records")[-1] in page


def test_a_model_that_goes_away_takes_its_draft_with_it(demo: Engine) -> None:
    events = _events(_engine(demo, WRITTEN, " 끝 [1]. 끝 [1]. 끝 [1].", ModelUnavailable("away")))
    (anew,) = (place for place, event in enumerate(events) if isinstance(event, Step) and event.anew)
    assert events[anew] == Step("답변: 언어 모델이 응답하지 않아 모델 없이 처리했습니다.", anew=True)
    assert "<section" in _html(events[:anew], "draft")[0]
    assert "<section" in _html(events[anew:], "draft")[0]
    assert "extractive" in _html(events, "answer")[0]


def test_nothing_found_is_a_page_too(demo: Engine) -> None:
    events = _events(demo, Asked("zzzz qqqq", "en"))
    assert "None of the question&#39;s words is in this index" in _html(events, "answer")[0]
    assert [html.strip() for html in _html(events, "records")] == ["", ""]
    assert isinstance(events[-1], Whole)


def test_cancelling_lets_the_model_go(demo: Engine) -> None:
    engine = _engine(demo, WRITTEN, *["다음 문장이다 [1]. "] * 100)
    stream = PageStream(engine.events(QUESTION), engine, ASKED)
    for event in stream:
        if isinstance(event, Piece) and event.place == "draft":
            break
    stream.cancel()
    assert isinstance(engine.model, ScriptedModel)
    assert engine.model.streams[0].closed
    stream.close()
    assert list(stream) == []


def test_a_question_that_cannot_be_read_begins_no_stream(demo: Engine) -> None:
    with pytest.raises(QuestionError):
        _events(demo, Asked(None, "ko"))
