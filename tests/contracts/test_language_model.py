"""Contract of language models."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from inspect import signature
from pathlib import Path

import pytest

from shrag.models.chat.circuit_breaker import CircuitBreaker
from shrag.models.chat.client import OpenAIModel
from shrag.models.chat.endpoint_pool import EndpointPool
from shrag.models.chat.settings import LlmSettings
from shrag.models.errors import ModelUnavailable
from shrag.models.language_model import LanguageModel, Message
from shrag.models.model_server.served_model import ServedModel
from shrag.models.model_server.server import ModelServer, SupervisionPolicy
from shrag.serving.llm.call_budget import BudgetedModel
from shrag.serving.llm.request_model import RequestModel
from tests.support.fake_endpoint import Endpoint, answers, breaks_after, serving
from tests.support.fault_modes import Fault

ASK = [Message("user", "그래핀이란?")]
FAKE = Path(__file__).resolve().parents[1] / "support" / "fake_vllm.py"


@contextmanager
def _openai(folder: Path) -> Iterator[LanguageModel]:
    del folder
    with (
        serving(Endpoint(answers("from the subprocess"))) as url,
        closing(OpenAIModel(LlmSettings(url=url))) as model,
    ):
        yield model


@contextmanager
def _pool(folder: Path) -> Iterator[LanguageModel]:
    del folder
    endpoint = Endpoint(answers("from the subprocess"))
    with (
        serving(endpoint) as first,
        serving(endpoint) as second,
        closing(EndpointPool([OpenAIModel(LlmSettings(url=url)) for url in (first, second)])) as model,
    ):
        yield model


@contextmanager
def _served(folder: Path) -> Iterator[LanguageModel]:
    (folder / "m").mkdir()
    (folder / "m" / "config.json").write_text("{}")
    settings = LlmSettings(command=[sys.executable, str(FAKE), str(folder)], weights=str(folder / "m"))
    with ModelServer(settings, folder / "llm", policy=SupervisionPolicy(poll=0.05, grace=0.5)) as server:
        assert server.wait_for("ready", 20).phase == "ready"
        with closing(ServedModel(settings, server)) as model:
            yield model


@pytest.fixture(params=[_openai, _pool, pytest.param(_served, marks=pytest.mark.process)])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LanguageModel]:
    """Return each model, over an endpoint that says ``from the subprocess``."""
    with request.param(tmp_path) as opened:
        yield opened


def test_a_whole_answer_and_a_streamed_one_are_the_same(model: LanguageModel) -> None:
    whole = model.complete(ASK)
    stream = model.stream(ASK)
    assert "".join(stream) == stream.completion.text == whole.text == "from the subprocess"
    assert model.name == "m"
    assert whole.finish_reason == stream.completion.finish_reason == "stop"
    assert (whole.prompt_tokens, whole.completion_tokens) == (7, 3)
    assert 0 < stream.completion.first_seconds <= stream.completion.seconds


def test_a_stream_can_be_closed_at_any_time_and_has_no_completion_before_its_end(model: LanguageModel) -> None:
    for taken in (0, 1):
        stream = model.stream(ASK)
        for _ in range(taken):
            next(iter(stream))
        with pytest.raises(RuntimeError):
            _ = stream.completion
        stream.close()
        stream.close()
        assert list(stream) == []
    finished = model.stream(ASK)
    assert list(finished)
    finished.close()
    assert finished.completion.text == "from the subprocess"


@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: model,
        CircuitBreaker,
        RequestModel,
        lambda model: BudgetedModel(model, most_calls=48, most_seconds=90),
        lambda model: EndpointPool([model]),
    ],
    ids=["endpoint", "circuit breaker", "request", "budget", "pool"],
)
def test_a_model_may_write_1024_tokens_unless_it_is_told_otherwise(
    wrap: Callable[[OpenAIModel], LanguageModel],
) -> None:
    endpoint = Endpoint(answers("a"))
    with serving(endpoint) as url, closing(OpenAIModel(LlmSettings(url=url, model="m"))) as client:
        model = wrap(client)
        model.complete(ASK)
        assert list(model.stream(ASK)) == ["a"]
        model.complete(ASK, max_tokens=7)
        assert list(model.stream(ASK, max_tokens=8)) == ["a"]
    assert [body["max_tokens"] for body in endpoint.asked] == [1024, 1024, 7, 8]


def test_a_model_of_a_server_may_write_1024_tokens_too() -> None:
    for call in (ServedModel.complete, ServedModel.stream, LanguageModel.complete, LanguageModel.stream):
        assert signature(call).parameters["max_tokens"].default == 1024


def test_a_model_that_goes_away_is_unavailable_before_and_between_two_pieces() -> None:
    with serving(Endpoint(breaks_after("a"))) as url, closing(OpenAIModel(LlmSettings(url=url, retries=0))) as model:
        stream = model.stream(ASK)
        assert next(iter(stream)) == "a"
        with pytest.raises(ModelUnavailable):
            next(iter(stream))
        with pytest.raises(ModelUnavailable):
            model.complete(ASK)


@pytest.mark.slow
def test_each_way_to_fail_is_a_model_that_is_away_and_never_a_completion(fault: Fault) -> None:
    with serving(Endpoint(fault.behaviour)) as url:
        settings = LlmSettings(url=url, model="m", read_timeout=0.3, timeout=1, retries=0)
        with closing(OpenAIModel(settings)) as model:
            with pytest.raises(ModelUnavailable):
                list(model.stream(ASK))
            with pytest.raises(ModelUnavailable):
                model.complete(ASK)
