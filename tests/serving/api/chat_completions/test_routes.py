"""OpenAI's interface, by OpenAI's own client, over a real socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Any, cast

import httpx2
import openai
import pytest

from shrag.models.errors import ModelUnavailable
from shrag.serving.api.chat_completions.schemas import ChatMessage, ContentPart, message_text
from shrag.serving.engine import Engine
from shrag.serving.runtime.admission import AdmissionQueue, ServerLimits
from tests.support.live import QUESTION, Live, live
from tests.support.scripted_models import ScriptedModel, listed

ASKED: list[dict[str, Any]] = [{"role": "user", "content": QUESTION}]


@pytest.fixture(scope="module")
def server(demo: Engine) -> Iterator[Live]:
    with live(demo) as running:
        yield running


@pytest.fixture
def client(server: Live) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="unused", max_retries=0) as opened:
        yield opened


def _create(client: openai.OpenAI, **options: Any) -> Any:  # noqa: ANN401
    """Ask, with fields that the client's types do not have, and read such fields."""
    return cast("Any", client.chat.completions).create(**options)


def test_the_default_strategy_is_the_only_model_listed_unless_all_are_asked_for(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["demo/shrag"]
    assert [model.id for model in client.models.list(extra_query={"all": "true"})] == [
        *("demo/shrag", "demo/bm25", "demo/hybrid", "demo/decompose", "demo/chain", "demo/tree", "demo/raise"),
        *(f"demo/pipeline-{number}" for number in range(1, 9)),
    ]
    assert client.models.retrieve("demo/bm25").owned_by == "shrag"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("demo", "demo/shrag, demo/bm25, demo/hybrid"),
        ("demo/bm52", "demo/bm25, demo/hybrid"),
        ("demo/rewrite", "demo/tree, demo/raise, demo/hybrid"),  # needs a language model, and there is none
        ("gpt-4o", "demo/shrag"),
    ],
)
def test_an_unknown_model_is_refused_with_those_that_may_be_meant(client: openai.OpenAI, name: str, meant: str) -> None:
    with pytest.raises(openai.NotFoundError, match=rf"such as {meant}; GET /v1/models"):
        client.models.retrieve(name)


@pytest.mark.parametrize("model", ["demo/shrag", "demo/bm25", "demo/hybrid"])
def test_a_question_is_answered_with_its_sources_as_annotations_and_as_a_list(
    client: openai.OpenAI, model: str
) -> None:
    answer = _create(client, model=model, messages=ASKED)
    choice = answer.choices[0]
    text = choice.message.content
    assert (choice.finish_reason, answer.model) == ("stop", model)
    assert text.startswith("## ")
    assert "**출처**" in text
    for annotation in choice.message.annotations:
        cited = annotation.url_citation
        mark = text[cited.start_index : cited.end_index]
        assert f"- {mark} {cited.title}" in text
        page = httpx2.get(cited.url, headers={"accept": "text/html"})
        assert page.status_code == 200
        assert escape(cited.title) in page.text
    assert choice.message.annotations
    assert answer.usage.total_tokens == 0
    assert answer.shrag["hits"][0]["rank"] == 1


def test_a_stream_ends_with_a_reason_its_usage_and_says_the_same_as_the_whole(client: openai.OpenAI) -> None:
    whole = _create(client, model="demo/shrag", messages=ASKED)
    stream = _create(client, model="demo/shrag", messages=ASKED, stream=True, stream_options={"include_usage": True})
    chunks = list(stream)
    deltas = [chunk.choices[0].delta for chunk in chunks[:-1]]
    assert deltas[0].role == "assistant"
    assert chunks[0].shrag["hits"] == whole.shrag["hits"]
    assert "".join(delta.content or "" for delta in deltas) == whole.choices[0].message.content
    assert (
        deltas[-2].annotations[0]["url_citation"]["title"] == whole.choices[0].message.annotations[0].url_citation.title
    )
    assert [chunk.choices[0].finish_reason for chunk in chunks[:-1]][-2:] == [None, "stop"]
    assert (chunks[-1].choices, chunks[-1].usage.total_tokens) == ([], 0)


def test_a_stream_without_usage_has_none_and_ends_with_done(server: Live) -> None:
    body = {"model": "demo/bm25", "messages": ASKED, "stream": True}
    status, head, text = server.ask("POST", "/v1/chat/completions", body)
    assert (status, "text/event-stream" in head) == (200, True)
    blocks = text.strip().split("\n\n")
    assert blocks[-1] == "data: [DONE]"
    chunks = [json.loads(block.removeprefix("data: ")) for block in blocks[:-1]]
    assert all("usage" not in chunk for chunk in chunks)
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"


def test_unknown_fields_are_ignored_and_the_last_message_of_the_user_is_the_question(client: openai.OpenAI) -> None:
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "blue carbon"},
        {"role": "assistant", "content": "…"},
        {"role": "user", "content": [{"type": "text", "text": QUESTION}], "name": "me"},
    ]
    answer = _create(
        client,
        model="demo/shrag",
        messages=messages,
        temperature=2,
        seed=3,
        max_tokens=5,
        extra_body={"options": {"x": [1]}},
    )
    plain = _create(client, model="demo/shrag", messages=ASKED)
    assert answer.choices[0].message.content == plain.choices[0].message.content


def test_a_follow_up_question_is_read_after_the_turns_before_it_and_the_text_says_how(client: openai.OpenAI) -> None:
    messages = [
        {"role": "user", "content": "How much does milk yield fall in dairy cows under heat stress?"},
        {"role": "assistant", "content": "By 14.9%."},
        {"role": "user", "content": "And what about their conception rate?"},
    ]
    answer = _create(client, model="demo/shrag", messages=messages)
    text = answer.choices[0].message.content
    assert text.startswith(
        "> Together with the earlier questions, this was understood as: And what about their conception rate? milk "
        "yield fall dairy cows "
        "heat stress\n\n## "
    )
    assert answer.shrag["hits"][0]["docid"] == "DEMO-AGR-008"
    mark = answer.choices[0].message.annotations[0].url_citation
    assert text[mark.start_index : mark.end_index] == "[1]"
    stream = _create(client, model="demo/shrag", messages=messages, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == text


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}


def test_in_a_conversation_only_the_question_must_be_text(client: openai.OpenAI) -> None:
    cows = "How much does milk yield fall in dairy cows under heat stress?"
    question = {"role": "user", "content": "And what about their conception rate?"}
    plain = [{"role": "user", "content": cows}, {"role": "assistant", "content": "By 14.9%."}, question]
    messages = [
        {"role": "system", "content": [PICTURE]},
        {"role": "user", "content": [PICTURE]},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "I see none."}]},
        {"role": "user", "content": [PICTURE, {"type": "text", "text": cows}]},
        {"role": "tool", "tool_call_id": "1", "content": [{"type": "file"}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "By 14.9%."}, PICTURE]},
        question,
        {"role": "assistant", "content": [PICTURE]},
    ]
    texts = [
        _create(client, model="demo/shrag", messages=each).choices[0].message.content for each in (plain, messages)
    ]
    assert texts[0] == texts[1]
    refused = [*messages, {"role": "user", "content": [{"type": "text", "text": cows}, PICTURE]}]
    with pytest.raises(openai.BadRequestError, match=r"messages\.8: a part of type 'image_url' is not read: send text"):
        _create(client, model="demo/shrag", messages=refused)


def test_an_answer_of_an_earlier_turn_may_be_a_refusal() -> None:
    parts = [ContentPart("output_text", "None."), ContentPart("image_url"), ContentPart("refusal", None, "I cannot.")]
    assert message_text(ChatMessage("assistant", parts)) == "None.\nI cannot."


def test_the_text_names_the_authors_that_a_question_names(client: openai.OpenAI) -> None:
    messages = [{"role": "user", "content": "papers by Ferrand"}]
    answer = _create(client, model="demo/shrag", messages=messages)
    text = answer.choices[0].message.content
    assert text.startswith("> Author of this name: Maddox Ferrand.\n\n")
    stream = _create(client, model="demo/shrag", messages=messages, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == text


TASK = """### Task:
Generate a concise title summarizing the chat history.
### Output:
JSON format: { "title": "your concise title here" }
### Chat History:
<chat_history>
USER: 재택근무를 많이 할수록 갈등이 커지는가?
ASSISTANT: 그렇다.
</chat_history>"""


def test_a_task_of_the_client_itself_gets_its_plainest_reply_and_nothing_is_searched(client: openai.OpenAI) -> None:
    messages = [{"role": "user", "content": TASK}]
    answer = _create(client, model="demo/shrag", messages=messages)
    assert json.loads(answer.choices[0].message.content) == {"title": "재택근무를 많이 할수록 갈등이 커지는가"}
    assert not hasattr(answer, "shrag")
    (chunk,) = _create(client, model="demo/shrag", messages=messages, stream=True)
    assert chunk.choices[0].delta.content == answer.choices[0].message.content
    assert chunk.choices[0].finish_reason == "stop"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://a"}}]}]},
            "text_only",
        ),
        ({"messages": [{"role": "system", "content": "a"}]}, "no_user_message"),
        ({"messages": []}, "invalid_request"),
        ({"messages": [{"role": "user", "content": ""}]}, "question_empty"),
        ({"messages": [{"role": "user", "content": "가" * 3000}]}, "question_too_long"),
        ({"messages": ASKED, "n": 2}, "one_answer_only"),
    ],
)
def test_what_cannot_be_answered_is_a_400_in_openais_form(server: Live, body: dict[str, object], code: str) -> None:
    for stream in (False, True):
        asked = {"model": "demo/shrag", "stream": stream, **body}
        status, head, text = server.ask("POST", "/v1/chat/completions", asked, x_request_id="mine-7")
        error = json.loads(text)["error"]
        assert (status, error["type"], error["code"]) == (400, "invalid_request_error", code)
        assert (error["request_id"], "x-request-id: mine-7" in head) == ("mine-7", True)


def test_a_part_that_is_no_text_is_refused_in_korean_if_that_is_asked_for(server: Live) -> None:
    asked = {"model": "demo/shrag", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]}
    _, _, text = server.ask("POST", "/v1/chat/completions", asked, accept_language="ko")
    said = json.loads(text)["error"]["message"]
    assert said == "messages.0: 'image_url' 유형은 읽지 않습니다. 텍스트로 보내 주세요."


def test_too_many_questions_are_a_rate_limit_error_that_the_client_knows_how_to_wait_for(demo: Engine) -> None:
    with live(demo, limits=ServerLimits(asks=1, queued_asks=0)) as server:
        gate: AdmissionQueue = server.service.asks
        gate._busy = 1
        with (
            openai.OpenAI(base_url=f"{server.url}/v1", api_key="unused", max_retries=0) as client,
            pytest.raises(openai.RateLimitError) as refused,
        ):
            _create(client, model="demo/shrag", messages=ASKED)
        gate._busy = 0
    assert int(refused.value.response.headers["retry-after"]) >= 1


def test_a_failure_in_the_middle_of_a_stream_is_an_error_and_no_end(
    demo: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr("shrag.serving.answering.answer.extract_answer", fail)
    with (
        live(demo) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="unused", max_retries=0) as client,
    ):
        stream = _create(client, model="demo/shrag", messages=ASKED, stream=True)
        with pytest.raises(openai.APIError, match="RuntimeError; its log says where"):
            list(stream)


def test_a_model_that_breaks_off_is_said_in_the_text_and_the_answer_begins_anew(demo: Engine) -> None:
    model = ScriptedModel(
        listed("재택근무"),
        listed("work"),
        ["재택근무 갈등을 분석하였다 [1]. 둘째 문장이다 [1]. 셋째", ModelUnavailable("it broke off")],
    )
    with (
        live(demo, model) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="unused", max_retries=0) as client,
    ):
        answer = _create(client, model="demo/shrag", messages=ASKED)
    text = answer.choices[0].message.content
    written, _, extracted = text.partition("> 언어 모델이 응답하지 않아 모델 없이 처리했습니다.")
    assert "분석하였다 [1]" in written.replace(".", "")
    assert "발췌 답변" in extracted
    cited = answer.choices[0].message.annotations[0].url_citation
    assert cited.start_index > len(written)
    assert text[cited.start_index : cited.end_index] == "[1]"
