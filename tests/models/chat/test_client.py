"""Client of a chat endpoint: requests, responses, retries and faulty endpoints."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from shrag.models.chat.client import OpenAIModel
from shrag.models.chat.settings import LlmSettings
from shrag.models.errors import ModelRefused, ModelUnavailable
from shrag.models.language_model import Message
from tests.support.fake_endpoint import (
    Behaviour,
    Endpoint,
    Handler,
    answers,
    breaks_after,
    goes_on,
    keeps_silent,
    piece,
    says,
    sends,
    serving,
    streams,
)

ASK = [Message("system", "짧게 답하라."), Message("user", "그래핀이란?")]
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


def _settings(url: str, **chosen: object) -> LlmSettings:
    return msgspec.convert(
        {"url": url, "model": "m", "read_timeout": 5.0, "timeout": 10.0, "retries": 2, **chosen}, LlmSettings
    )


def test_half_a_surrogate_pair_as_a_terminal_of_another_encoding_gives_it_is_sent_as_a_question_mark() -> None:
    endpoint = Endpoint(answers("x"))
    with serving(endpoint) as url, closing(OpenAIModel(_settings(url))) as model:
        assert model.complete([Message("user", "그래핀 \udcff")]).text == "x"
    assert endpoint.asked[0]["messages"] == [{"role": "user", "content": "그래핀 ?"}]


def test_a_completion_is_greedy_seeded_and_capped_and_its_tokens_and_time_are_recorded() -> None:
    endpoint = Endpoint(answers("탄소 한 겹이다."))
    with serving(endpoint) as url, closing(OpenAIModel(_settings(url, max_tokens=64, seed=3))) as model:
        completion = model.complete(ASK, SCHEMA, max_tokens=500)
    assert (completion.text, completion.finish_reason) == ("탄소 한 겹이다.", "stop")
    assert (completion.prompt_tokens, completion.completion_tokens) == (7, 3)
    assert 0 < completion.first_seconds == completion.seconds < 5
    assert endpoint.asked == [
        {
            "model": "m",
            "messages": [{"role": "system", "content": "짧게 답하라."}, {"role": "user", "content": "그래핀이란?"}],
            "max_tokens": 64,
            "temperature": 0,
            "seed": 3,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
            },
            "chat_template_kwargs": {"enable_thinking": False},
        }
    ]


def test_fields_of_vllms_own_are_sent_to_vllm_only() -> None:
    endpoint = Endpoint(answers("x"), version=None)
    with serving(endpoint) as url, closing(OpenAIModel(_settings(url))) as model:
        model.complete(ASK)
        model.complete(ASK)
    assert ["chat_template_kwargs" in body for body in endpoint.asked] == [False, False]
    assert endpoint.paths.count("/version") == 1


@pytest.mark.parametrize(("has_priorities", "sent"), [(True, [-1, None, None]), (False, [None, None, None])])
def test_what_is_urgent_goes_first_where_the_endpoint_has_priorities(
    has_priorities: bool, sent: list[int | None]
) -> None:
    endpoint = Endpoint(answers("x"))
    with serving(endpoint) as url, closing(OpenAIModel(_settings(url), has_priorities=has_priorities)) as model:
        model.complete(ASK, urgent=True)
        model.complete(ASK)
        list(model.stream(ASK))
    assert [body.get("priority") for body in endpoint.asked] == sent


def test_a_stream_gives_the_pieces_then_the_completion_with_its_usage() -> None:
    endpoint = Endpoint(answers("탄소 원자 한 겹으로 된 물질이다.", "length"))
    with serving(endpoint) as url, closing(OpenAIModel(_settings(url))) as model:
        stream = model.stream(ASK)
        with pytest.raises(RuntimeError, match="last piece"):
            _ = stream.completion
        pieces = list(stream)
        stream.close()
    assert pieces == ["탄소 원", "자 한 ", "겹으로 ", "된 물질", "이다."]
    completion = stream.completion
    assert (completion.text, completion.finish_reason) == ("".join(pieces), "length")
    assert (completion.prompt_tokens, completion.completion_tokens) == (7, 3)
    assert 0 < completion.first_seconds <= completion.seconds
    assert endpoint.asked[0]["stream_options"] == {"include_usage": True}


def test_an_endpoint_that_does_not_count_gives_no_tokens_and_no_error() -> None:
    with serving(Endpoint(answers("x", usage=False))) as url, closing(OpenAIModel(_settings(url))) as model:
        stream = model.stream(ASK)
        assert list(stream) == ["x"]
        assert (stream.completion.prompt_tokens, model.complete(ASK).completion_tokens) == (0, 0)


def test_a_unix_socket_is_an_address(tmp_path: Path) -> None:
    with serving(Endpoint(answers("x")), tmp_path / "s") as url, closing(OpenAIModel(_settings(url))) as model:
        assert model.complete(ASK).text == "x"
        assert list(model.stream(ASK)) == ["x"]


def test_without_a_configured_name_the_endpoints_is_used() -> None:
    endpoint = Endpoint(answers("x"), models=("qwen",))
    with serving(endpoint) as url, closing(OpenAIModel(_settings(url, model=""))) as model:
        assert model.complete(ASK).text == "x"
        assert model.name == "qwen"
        assert model.health() == (("qwen",), "qwen", 2048, "vLLM 0.32.0")
    assert endpoint.asked[0]["model"] == "qwen"


def test_with_several_models_one_must_be_configured() -> None:
    with serving(Endpoint(answers("x"), models=("a", "b"))) as url:
        with (
            closing(OpenAIModel(_settings(url, model=""))) as model,
            pytest.raises(ModelRefused, match="serves a, b: choose one with SHRAG_LLM_MODEL"),
        ):
            model.complete(ASK)
        with (
            closing(OpenAIModel(_settings(url, model="c"))) as model,
            pytest.raises(ModelRefused, match="no model 'c': it serves a, b"),
        ):
            model.health()


@pytest.mark.slow
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("first", [says(503, "loading"), says(429, "slow down"), says(502), breaks_after()])
def test_transient_errors_are_retried(first: Behaviour, streamed: bool) -> None:
    endpoint = Endpoint(first, first, answers("x"))
    with serving(endpoint) as url, closing(OpenAIModel(_settings(url))) as model:
        assert (list(model.stream(ASK)) if streamed else [model.complete(ASK).text]) == ["x"]
    assert len(endpoint.asked) == 3


def test_retries_are_limited() -> None:
    endpoint = Endpoint(says(503, "loading the weights"))
    with serving(endpoint) as url, closing(OpenAIModel(_settings(url, retries=1))) as model:
        with pytest.raises(ModelUnavailable, match=r"answers 503 \(loading the weights\)"):
            model.complete(ASK)
        assert len(endpoint.asked) == 2


@pytest.mark.slow
def test_retry_after_is_respected() -> None:
    endpoint = Endpoint(says(429, "", retry_after="1"), answers("x"))
    with serving(endpoint) as url, closing(OpenAIModel(_settings(url))) as model:
        began = time.monotonic()
        model.complete(ASK)
        assert 1 <= time.monotonic() - began < 4


def test_there_is_no_retry_after_the_first_piece() -> None:
    endpoint = Endpoint(breaks_after("탄소", " 한"), answers("x"))
    with serving(endpoint) as url, closing(OpenAIModel(_settings(url))) as model:
        stream = model.stream(ASK)
        assert next(iter(stream)) == "탄소"
        assert next(iter(stream)) == " 한"
        with pytest.raises(ModelUnavailable):
            next(iter(stream))
        stream.close()
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        (says(404, "The model `m` does not exist."), ModelRefused, "knows no model 'm'"),
        (
            says(400, "This model's maximum context length is 2048 tokens. However, your prompt contains 2049"),
            ModelRefused,
            "longer than the context of 'm'",
        ),
        (
            says(400, "max_tokens=5000 cannot be greater than max_model_len=2048."),
            ModelRefused,
            "longer than the context of 'm'",
        ),
        (says(400, "bad grammar"), ModelRefused, r"refuses the request \(400: bad grammar\)"),
        (says(401, "who?"), ModelRefused, "SHRAG_LLM_API_KEY"),
        (says(302, "", location="http://127.0.0.1:1/"), ModelRefused, "redirects elsewhere"),
        (says(500, "EngineDeadError"), ModelUnavailable, r"answers 500 \(EngineDeadError\)"),
        (sends(b"<h1>hello</h1>", "text/html"), ModelUnavailable, "invalid response"),
        (sends(b'{"choices": 3}'), ModelUnavailable, "invalid response"),
        (sends(b'{"choices": []}'), ModelUnavailable, "no choice"),
        (sends(b"{"), ModelUnavailable, "invalid response"),
        (sends(b"\xff\xfe"), ModelUnavailable, "invalid response"),
        (answers("x", "abort"), ModelUnavailable, "'abort'"),
    ],
)
def test_error_responses_become_one_sentence(behaviour: Behaviour, kind: type[Exception], words: str) -> None:
    with (
        serving(Endpoint(behaviour)) as url,
        closing(OpenAIModel(_settings(url))) as model,
        pytest.raises(kind, match=words) as raised,
    ):
        model.complete(ASK)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([piece("a"), b"{not json"], id="broken JSON"),
        pytest.param([piece("a"), [1, 2]], id="a list"),
        pytest.param([piece("a"), {"choices": [{"delta": {"content": 5}}]}], id="a number for text"),
        pytest.param([piece("a"), {"error": {"message": "the engine died", "code": 500}}], id="an error event"),
        pytest.param([piece("a"), b"\xff\xfe\xfd"], id="no UTF-8"),
        pytest.param([piece("a")], id="no last piece"),
        pytest.param([piece("a"), b"null"], id="null"),
        pytest.param([piece("a"), b"[DONE]"], id="done without an end"),
    ],
)
def test_a_broken_stream_gives_its_pieces_then_an_error(events: list[object]) -> None:
    with serving(Endpoint(streams(*events))) as url, closing(OpenAIModel(_settings(url))) as model:
        stream = model.stream(ASK)
        given: list[str] = []
        with pytest.raises(ModelUnavailable, match="broke off") as raised:
            given.extend(stream)
        assert "\n" not in str(raised.value)
        with pytest.raises(RuntimeError):
            _ = stream.completion


@pytest.mark.slow
def test_a_refused_connection_is_reported_at_once() -> None:
    with closing(OpenAIModel(_settings("http://127.0.0.1:9/v1"))) as model:
        began = time.monotonic()
        with pytest.raises(ModelUnavailable, match="does not answer"):
            model.complete(ASK)
        assert time.monotonic() - began < 3
        assert model.name == "m"
    with closing(OpenAIModel(_settings("unix:/nowhere/llm.sock", model=""))) as model:
        assert model.name == "the model at unix:/nowhere/llm.sock"


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", [keeps_silent(20), sends(b"")])
def test_silence_and_an_empty_answer_are_errors_not_waits(behaviour: Behaviour) -> None:
    settings = {"read_timeout": 0.5, "timeout": 0.6}
    with serving(Endpoint(behaviour)) as url, closing(OpenAIModel(_settings(url, **settings))) as model:
        began = time.monotonic()
        with pytest.raises(ModelUnavailable):
            model.complete(ASK)
        with pytest.raises(ModelUnavailable):
            list(model.stream(ASK))
        assert time.monotonic() - began < 4


@pytest.mark.slow
@pytest.mark.parametrize("data", [None, b": still here\n\n"])
def test_a_stream_that_never_ends_is_ended_by_the_total_time(data: bytes | None) -> None:
    endpoint = Endpoint(goes_on(0.05, data))
    with serving(endpoint) as url, closing(OpenAIModel(_settings(url, timeout=1.0))) as model:
        began = time.monotonic()
        with pytest.raises(ModelUnavailable, match="not complete after 1 seconds"):
            list(model.stream(ASK))
        assert time.monotonic() - began < 3
        assert endpoint.gone.wait(5)


def test_closing_a_stream_between_two_pieces_ends_the_request() -> None:
    endpoint = Endpoint(goes_on(0.02))
    with serving(endpoint) as url, closing(OpenAIModel(_settings(url))) as model:
        stream = model.stream(ASK)
        assert next(iter(stream)) == "a"
        stream.close()
        stream.close()
        assert endpoint.gone.wait(5)
        assert list(stream) == []


def test_closing_a_stream_wakes_the_thread_that_waits_for_its_next_piece() -> None:
    endpoint = Endpoint(keeps_silent(30, begin=True))
    with serving(endpoint) as url, closing(OpenAIModel(_settings(url, read_timeout=30.0, timeout=60.0))) as model:
        stream = model.stream(ASK)
        given: list[str] = []
        reader = threading.Thread(target=lambda: given.extend(stream))
        reader.start()
        time.sleep(0.3)
        began = time.monotonic()
        stream.close()
        reader.join(5)
        assert not reader.is_alive()
        assert time.monotonic() - began < 2
        assert endpoint.gone.wait(5)
        assert given == ["a"]


def test_a_stream_that_is_closed_before_its_first_piece_gives_none() -> None:
    with serving(Endpoint(answers("abcdefgh"))) as url, closing(OpenAIModel(_settings(url))) as model:
        stream = model.stream(ASK)
        stream.close()
        assert list(stream) == []


@pytest.mark.slow
def test_many_threads_share_one_model() -> None:
    def echo(handler: Handler, body: dict[str, Any]) -> None:
        answers(body["messages"][-1]["content"])(handler, body)

    with serving(Endpoint(echo)) as url, closing(OpenAIModel(_settings(url))) as model:

        def ask(number: int) -> str:
            asked = [Message("user", f"질문 {number}")]
            return "".join(model.stream(asked)) if number % 2 else model.complete(asked).text

        with ThreadPoolExecutor(32) as pool:
            assert list(pool.map(ask, range(200))) == [f"질문 {number}" for number in range(200)]


def test_reasoning_is_removed_from_completions_and_streams() -> None:
    endpoint = Endpoint(answers("<think>\n음… 탄소?\n</think>\n\n탄소다."))
    with serving(endpoint) as url, closing(OpenAIModel(_settings(url))) as model:
        assert model.complete(ASK).text == "탄소다."
        stream = model.stream(ASK)
        assert "".join(stream) == stream.completion.text == "탄소다."


@pytest.mark.slow
def test_a_slow_keyword_response_times_out() -> None:
    with (
        serving(Endpoint(goes_on(0.05))) as url,
        closing(OpenAIModel(_settings(url, keyword_timeout=2.0, read_timeout=30.0))) as model,
    ):
        started = time.monotonic()
        with pytest.raises(ModelUnavailable, match="not complete after 2 seconds"):
            model.complete(ASK, urgent=True)
        assert time.monotonic() - started < 10


@pytest.mark.slow
def test_a_silent_keyword_request_times_out() -> None:
    with (
        serving(Endpoint(keeps_silent(30))) as url,
        closing(OpenAIModel(_settings(url, keyword_timeout=0.5, read_timeout=30.0))) as model,
    ):
        started = time.monotonic()
        with pytest.raises(ModelUnavailable, match="nothing more in time"):
            model.complete(ASK, urgent=True)
        assert time.monotonic() - started < 10


def test_a_complete_response_that_is_not_urgent_may_take_longer_than_keywords_and_pieces() -> None:
    def answer_late(handler: Handler, body: dict[str, Any]) -> None:
        time.sleep(0.6)
        answers("x")(handler, body)

    settings = {"keyword_timeout": 0.2, "read_timeout": 0.2}
    with (
        serving(Endpoint(answer_late)) as url,
        closing(OpenAIModel(_settings(url, **settings, timeout=30.0))) as model,
    ):
        assert model.complete(ASK).text == "x"
        with pytest.raises(ModelUnavailable, match="nothing more in time"):
            model.complete(ASK, urgent=True)
    with (
        serving(Endpoint(answer_late)) as url,
        closing(OpenAIModel(_settings(url, timeout=0.2))) as model,
        pytest.raises(ModelUnavailable, match="nothing more in time"),
    ):
        model.complete(ASK)


@pytest.mark.parametrize(("read", "short"), [(5.0, 5.0), (5.0, 3.0), (120.0, 20.0), (2.0, 20.0)])
def test_every_request_has_the_configured_timeouts(read: float, short: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five seconds, the HTTP library's own, are no exception."""
    waited: list[dict[str, float]] = []

    def note(_: httpx2.HTTPTransport, request: httpx2.Request) -> httpx2.Response:
        waited.append(request.extensions["timeout"])
        raise httpx2.ReadTimeout("noted")

    monkeypatch.setattr(httpx2.HTTPTransport, "handle_request", note)
    chosen = _settings("http://127.0.0.1:1/v1", connect_timeout=5.0, read_timeout=read, keyword_timeout=short)
    with closing(OpenAIModel(chosen)) as model:
        for ask in (partial(model.complete, urgent=True), model.complete, model.stream):
            model._is_vllm = False  # a failure has it look again
            with pytest.raises(ModelUnavailable):
                ask(ASK)
    bounds = (min(short, chosen.timeout), chosen.timeout, read)
    assert waited == [{"connect": 5.0, "read": bound, "write": bound, "pool": bound} for bound in bounds]
