"""The HTTP interface and the page with a language model: who wrote what, what is unsupported, what fell back."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from shrag.models.errors import ModelUnavailable
from shrag.serving.app import create_app
from shrag.serving.engine import Engine
from tests.support.scripted_models import ScriptedModel, listed

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"
WRITTEN = (
    "##제목##\n<b>재택근무</b> ![x](http://a.b/c.png)\n"
    "##본론##\n재택근무 일수와 갈등의 관계를 분석하였다 [1]. 갈등은 987% 커졌다 [1].\n"
)


def _client(demo: Engine, *, away: bool = False) -> TestClient:
    written = [ModelUnavailable("The model does not answer: start it.")] if away else [WRITTEN]
    model = ScriptedModel(listed("재택근무", "갈등"), listed("remote work"), written)
    return TestClient(create_app(Engine(demo.open_index, model)), base_url="http://127.0.0.1")


def test_the_interface_says_which_model_wrote_and_what_it_took(demo: Engine) -> None:
    client = _client(demo)
    body = client.post("/v1/ask", json={"question": QUESTION, "keyword_order": "model"}).json()
    answer, search = body["answer"], body["search"]
    assert (answer["kind"], answer["model"], answer["citation_precision"]) == ("generated", "scripted", 0.5)
    assert answer["label"] == "생성 답변: 언어 모델(scripted)이 검색한 문헌을 근거로 작성했습니다."
    assert [sentence["issue"] for sentence in answer["sections"][1]["sentences"]] == ["", "number"]
    assert (search["keyword_model"], search["keyword_order"], search["fallbacks"]) == ("scripted", "model", [])
    assert [call["stage"] for call in search["model_calls"]] == ["keywords", "keywords", "answer"]
    assert client.get("/health").json()["language_model"] == "scripted"


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("plain", "<b>재택근무</b> x\n\n재택근무 일수와 갈등의 관계를 분석하였다. 갈등은 987% 커졌다."),
        (
            "scienceon",
            "##제목##\n<b>재택근무</b> x\n\n##본론##\n재택근무 일수와 갈등의 관계를 분석하였다. 갈등은 987% 커졌다.",
        ),
    ],
)
def test_the_text_comes_in_the_format_asked_for(demo: Engine, form: str, text: str) -> None:
    body = _client(demo).post("/v1/ask", json={"question": QUESTION, "format": form}).json()
    assert body["answer"]["text"] == text


def test_an_unknown_format_or_order_is_refused(demo: Engine) -> None:
    client = _client(demo)
    for extra in ({"format": "markdown"}, {"keyword_order": "random"}):
        assert client.post("/v1/ask", json={"question": QUESTION, **extra}).status_code == 422


def test_the_page_marks_what_is_unsupported_and_renders_nothing_a_model_wrote(demo: Engine) -> None:
    page = _client(demo).get("/", params={"q": QUESTION, "ui": "ko"}).text
    assert "생성 답변" in page
    assert "&lt;b&gt;재택근무&lt;/b&gt;" in page
    assert "<b>재택근무" not in page
    assert "<img" not in page
    assert "a.b/c.png" not in page
    assert '<bdi class="unsupported">갈등은 987% 커졌다.</bdi>' in page
    assert "근거 문헌에 없는 수치가 있습니다" in page
    assert "근거 문헌에서 확인되지 않는 문장 1개" in page


def test_the_page_says_what_was_done_without_the_model(demo: Engine) -> None:
    page = _client(demo, away=True).get("/", params={"q": QUESTION, "ui": "en"}).text
    assert "Extractive answer" in page
    assert "answer: The language model does not answer, so this step was done without it." in page
