"""The HTTP client connects to its endpoint only, whatever the environment and the endpoint say."""

from __future__ import annotations

import socket
import time
from contextlib import closing
from pathlib import Path

import httpx2
import pytest

from shrag.messages.text import Text, in_language, message_of
from shrag.models.chat.client import OpenAIModel
from shrag.models.chat.endpoint import Timeouts, parse_address
from shrag.models.chat.http_client import EndpointClient, failure_reason
from shrag.models.chat.settings import LlmSettings
from shrag.models.errors import ModelUnavailable
from shrag.models.language_model import Message
from tests.support.fake_endpoint import Endpoint, answers, says, sends, serving

TIMES = Timeouts(2, 2, 5)


@pytest.fixture
def hostile_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set every variable that makes the client libraries go elsewhere or say more."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-leak-1")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-leak-2")
    monkeypatch.setenv("OPENAI_ORG_ID", "leak-3")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "leak-4")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Leak: leak-5\nAuthorization: Bearer leak-6")


def _ask(**settings: str) -> None:
    with closing(OpenAIModel(LlmSettings(model="m", retries=0, **settings))) as model:  # type: ignore[arg-type]
        assert model.complete([Message("user", "?")]).text == "x"
        assert list(model.stream([Message("user", "?")])) == ["x"]


@pytest.mark.usefixtures("hostile_environment")
def test_nothing_of_the_environment_redirects_a_request_or_leaks_into_it() -> None:
    endpoint = Endpoint(answers("x"))
    with serving(endpoint) as url:
        _ask(url=url)
    allowed = {"accept", "accept-encoding", "connection", "content-length", "content-type", "host"}
    assert [set(headers) - allowed for headers in endpoint.headers] == [set(), set()]
    assert "leak" not in str(endpoint.headers) + str(endpoint.asked)


@pytest.mark.usefixtures("hostile_environment")
def test_the_key_of_the_settings_is_the_one_that_is_sent() -> None:
    endpoint = Endpoint(answers("x"))
    with serving(endpoint) as url:
        _ask(url=url, api_key="ours")
    assert [headers["authorization"] for headers in endpoint.headers] == ["Bearer ours", "Bearer ours"]


@pytest.mark.usefixtures("hostile_environment")
def test_a_unix_socket_is_reached_whatever_proxies_there_are(tmp_path: Path) -> None:
    endpoint = Endpoint(answers("x"))
    with serving(endpoint, tmp_path / "s") as url:
        _ask(url=url)
    assert endpoint.headers[0]["host"] == "localhost"


def test_a_redirect_to_another_host_is_not_followed() -> None:
    elsewhere = Endpoint(answers("x"))
    with serving(elsewhere) as other:
        endpoint = Endpoint(says(307, "", location=other + "/chat/completions"))
        with serving(endpoint) as url, pytest.raises(Exception, match="redirects elsewhere"):
            _ask(url=url)
    assert elsewhere.asked == []


def test_another_address_is_refused_by_the_client_itself() -> None:
    with serving(Endpoint(answers("x"))) as url, serving(Endpoint(answers("x"))) as other:
        client = EndpointClient(parse_address(url), TIMES)
        with closing(client), pytest.raises(httpx2.UnsupportedProtocol, match="is not the endpoint"):
            client.get(other)


def test_an_endless_response_is_an_error() -> None:
    endpoint = Endpoint(sends(b" " * (5 * 2**20)))
    with serving(endpoint) as url, pytest.raises(ModelUnavailable, match="larger than 4 MiB"):
        _ask(url=url)


def test_a_socket_nobody_listens_on_any_more_is_unavailable_at_once(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
    with closing(EndpointClient(parse_address(f"unix:{path}"), TIMES)) as client:
        began = time.monotonic()
        with pytest.raises(ModelUnavailable, match="Connection refused"):
            client.fetch("/health")
        assert time.monotonic() - began < 5


def test_a_silent_listener_is_unavailable_in_time() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        address = parse_address(f"http://127.0.0.1:{listener.getsockname()[1]}")
        with closing(EndpointClient(address, TIMES)) as client:
            began = time.monotonic()
            with pytest.raises(ModelUnavailable, match="nothing more in time") as raised:
                client.fetch("/health", 0.3)
            assert time.monotonic() - began < 5
    assert in_language(message_of(raised.value), "ko").endswith(
        ": 응답하지 않습니다(제한 시간 안에 더 받지 못했습니다)."
    )


@pytest.mark.parametrize(
    ("error", "english", "korean"),
    [
        (httpx2.ConnectTimeout("timed out"), "no connection in time", "제한 시간 안에 연결되지 않았습니다"),
        (
            httpx2.ReadTimeout(Text("not complete after {seconds:g} seconds", seconds=3.0)),
            "not complete after 3 seconds",
            "3초",
        ),
        (httpx2.ReadError(Text("a response larger than 4 MiB")), "a response larger than 4 MiB", "4 MiB보다 큰"),
        (httpx2.ConnectError("[Errno 111] Connection refused"), "Errno 111: Connection refused", "Errno 111: Conn"),
        (httpx2.ReadError(""), "ReadError", "ReadError"),
    ],
)
def test_why_a_connection_failed_is_said_in_both_languages_where_the_words_are_shrags(
    error: Exception, english: str, korean: str
) -> None:
    assert failure_reason(error) == english
    assert in_language(failure_reason(error), "ko").startswith(korean)
