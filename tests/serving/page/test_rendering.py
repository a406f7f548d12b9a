from __future__ import annotations

import pytest

from shrag.indexing.errors import IndexDamaged
from shrag.serving.engine import Engine
from shrag.serving.errors import DeadlineExceeded, DocumentMissing, Overloaded, QuestionError, ShuttingDown
from shrag.serving.page.rendering import render_problem
from shrag.serving.page.request import PageRequest

QUESTION = "<i>갈등</i> & 일?"

CASES = [
    (Overloaded("full", 7), 429, "7", "too many questions", "질문이 많습니다"),
    (ShuttingDown("going"), 503, "5", "being stopped", "종료하는 중"),
    (DeadlineExceeded("slow"), 503, "1", "within the time limit", "제한 시간"),
    (RuntimeError("secret /path"), 500, None, "An unexpected error", "예상하지 못한"),
    (IndexDamaged("Index <x>: build it again."), 503, None, "Index &lt;x&gt;: build", "Index &lt;x&gt;: build"),
    (QuestionError("question_too_long", "long"), 422, None, "to 2,000 characters or fewer", "2,000자 이내"),
    (DocumentMissing("none"), 404, None, "record was not found", "해당 문헌을 찾을 수 없습니다"),
]


@pytest.mark.parametrize(("error", "status", "retry", "english", "korean"), CASES, ids=lambda each: type(each).__name__)
def test_each_error_is_a_page_in_both_languages_that_keeps_the_question(
    demo: Engine, error: Exception, status: int, retry: str | None, english: str, korean: str
) -> None:
    asked = PageRequest(QUESTION, "en", 20)
    told, html, headers = render_problem(demo, asked, error)
    assert (told, headers.get("Retry-After")) == (status, retry)
    assert english in html
    assert korean in render_problem(demo, PageRequest(QUESTION, "ko"), error)[1]
    assert ">\n&lt;i&gt;갈등&lt;/i&gt; &amp; 일?</textarea>" in html
    assert f'<a href="{asked.url().replace("&", "&amp;")}" data-action="retry"' in html
    assert (f'data-retry-after="{retry}"' in html) == (retry is not None)
    assert "secret" not in html


def test_where_nothing_was_asked_there_is_nothing_to_ask_again(demo: Engine) -> None:
    html = render_problem(demo, PageRequest(None, "en"), DocumentMissing("none"))[1].partition("<template")[0]
    assert "Ask a new question" in html
    assert 'data-action="retry"' not in html
