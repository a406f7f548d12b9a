"""Probe of an endpoint, and classification of its errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from shrag.messages.text import in_language
from shrag.models.chat.endpoint import EndpointHealth, Timeouts, parse_address
from shrag.models.chat.endpoint_probe import error_for_status, probe, to_one_line
from shrag.models.chat.http_client import EndpointClient
from shrag.models.errors import ModelRefused, ModelUnavailable
from tests.support.fake_endpoint import Endpoint, Handler, answers, serving


@contextmanager
def _client(endpoint: Endpoint) -> Iterator[EndpointClient]:
    with serving(endpoint) as url, closing(EndpointClient(parse_address(url), Timeouts(2, 2, 2))) as client:
        yield client


def test_name_context_and_engine_are_reported() -> None:
    with _client(Endpoint(answers(""), models=("a", "b"))) as client:
        assert probe(client, "b") == EndpointHealth(("a", "b"), "b", 2048, "vLLM 0.32.0")
    with _client(Endpoint(answers(""), version=None)) as client:
        assert probe(client) == EndpointHealth(("m",), "m", 2048, "")


def test_an_endpoint_without_models_is_an_error() -> None:
    with _client(Endpoint(answers(""), models=())) as client, pytest.raises(ModelRefused, match="serves nothing"):
        probe(client)


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (404, b"", ModelRefused, "not an OpenAI-compatible endpoint"),
        (200, b"<html>", ModelRefused, "not an OpenAI-compatible endpoint"),
        (200, b'{"data": 5}', ModelRefused, "not an OpenAI-compatible endpoint"),
        (403, b"", ModelRefused, "SHRAG_LLM_API_KEY"),
        (401, b"", ModelRefused, "SHRAG_LLM_API_KEY"),
        (499, b"", ModelRefused, "not an OpenAI-compatible endpoint .*499"),
        (500, b"", ModelUnavailable, "answers 500: .* starting"),
        (503, b"", ModelUnavailable, "starting"),
        (429, b"", ModelUnavailable, r"is too busy \(/models\): try later"),
        (429, b"rate\nlimit", ModelUnavailable, r"is too busy \(rate limit\)"),
    ],
)
def test_starting_and_busy_endpoints_and_other_servers_are_distinguished(
    status: int, body: bytes, kind: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def get(handler: Handler) -> None:
        handler.send(status, body)

    monkeypatch.setattr(Handler, "do_GET", get)
    with _client(Endpoint(answers(""))) as client, pytest.raises(kind, match=words):
        probe(client)


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (401, ModelRefused, "API_KEY"),
        (403, ModelRefused, "API_KEY"),
        (499, ModelRefused, "499"),
        (500, ModelUnavailable, "answers 500"),
        (429, ModelUnavailable, "is too busy"),
    ],
)
def test_a_model_whose_server_fails_or_is_busy_is_asked_again_later(
    status: int, kind: type[Exception], words: str
) -> None:
    error = error_for_status("http://127.0.0.1:1/v1", "m", status, "it failed")
    assert type(error) is kind
    assert words in str(error)


def test_messages_are_shortened_to_one_printable_line() -> None:
    assert to_one_line("a\n\tb\x1b[31m\x00 c\u202e") == "a b [31m c"
    assert to_one_line("가" * 500) == "가" * 299 + "…"
    assert to_one_line("") == ""


def test_messages_of_other_servers_for_too_long_prompts_are_recognised() -> None:
    for message in (
        "the request exceeds the available context size, try increasing it",
        "Input validation error: `inputs` tokens + `max_new_tokens`: prompt is too long",
        "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
        "This model's maximum context length is 2048 tokens.",
    ):
        assert "longer than the context of 'm'" in str(error_for_status("here", "m", 400, message))
    assert "longer than" not in str(error_for_status("here", "m", 400, "temperature must be positive"))


@pytest.mark.parametrize(
    ("status", "korean"),
    [
        (404, "here: 'm' 모델을 찾을 수 없습니다(no context length). "),
        (400, "프롬프트와 답변의 길이가 'm' 모델의 문맥 길이를 넘습니다(no context length). "),
        (302, "here: 다른 주소로 리디렉션하지만(302) 따라가지 않습니다. "),
    ],
)
def test_a_refusal_can_be_shown_in_korean(status: int, korean: str) -> None:
    assert in_language(error_for_status("here", "m", status, "no context length"), "ko").startswith(korean)
    assert "요청을 거부했습니다(418: no)" in in_language(error_for_status("here", "m", 418, "no"), "ko")


def test_of_many_models_eight_are_named() -> None:
    names = tuple(f"m{number}" for number in range(9))
    with _client(Endpoint(answers(""), models=names)) as client:
        with pytest.raises(
            ModelRefused, match=r"serves m0, m1, m2, m3, m4, m5, m6, m7: choose one with SHRAG_LLM_MODEL"
        ):
            probe(client)
        assert probe(client, "m8").model == "m8"


def test_a_missing_model_can_be_told_in_korean() -> None:
    with _client(Endpoint(answers(""), models=())) as client, pytest.raises(ModelRefused) as refused:
        probe(client)
    assert "제공하는 모델: 없음. 사용할 모델을" in in_language(refused.value, "ko")
    with _client(Endpoint(answers(""))) as client, pytest.raises(ModelRefused) as refused:
        probe(client, "x")
    assert "'x' 모델이 없습니다. 제공하는 모델: m." in in_language(refused.value, "ko")
