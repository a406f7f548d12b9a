"""Questions over the demonstration, answered by a real vLLM whose words mean nothing: what holds whatever it writes."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from shrag.models.language_model import CompletionStream, Message
from shrag.models.model_server.served_model import ServedModel
from shrag.models.model_server.server import ModelServer
from shrag.serving.engine import Engine
from shrag.serving.events import Answer, Fallback
from shrag.serving.llm.structured_call import fence_records
from shrag.serving.results import AskResult
from tests.vllm.conftest import START_SECONDS
from tests.vllm.test_vllm import _process

pytestmark = pytest.mark.vllm

KOREAN = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"
ENGLISH = "How much does milk yield fall in dairy cows under heat stress?"


@pytest.fixture
def engine(demo: Engine, model: ServedModel) -> Engine:
    return Engine(demo.open_index, model)


def _holds(result: AskResult) -> None:
    """Check what no model may break."""
    answer = result.answer
    ranked = {each.record.docid for each in result.search.ranking.records}
    assert {citation.docid for citation in answer.citations} <= ranked
    numbers = {citation.number for citation in answer.citations}
    for section in answer.sections:
        for sentence in section.sentences:
            assert set(sentence.citations) <= numbers
            assert sentence.supported == (not sentence.issue)
    if answer.kind == "extractive":
        assert [each for each in result.search.fallbacks if each.stage == "answer"]
        assert answer.citation_precision is None
        assert all(sentence.supported for section in answer.sections for sentence in section.sentences)


@pytest.mark.parametrize("question", [KOREAN, ENGLISH])
def test_whatever_a_model_writes_the_answer_holds_and_every_call_is_told(engine: Engine, question: str) -> None:
    result = engine.ask(question)
    _holds(result)
    calls = result.search.model_calls
    assert [call.stage for call in calls[:2]] == ["keywords", "keywords"]
    assert all(call.model == "tiny-qwen3" and call.prompt_tokens > 100 for call in calls)
    assert result.search.ranking.records


def test_twelve_questions_at_once_are_all_answered(engine: Engine) -> None:
    questions = [f"{question} ({number})" for number in range(6) for question in (KOREAN, ENGLISH)]
    with ThreadPoolExecutor(12) as pool:
        for result in pool.map(engine.ask, questions):
            _holds(result)


class _Reading:
    """A model that answers as the real one, and lets its server be killed once it writes."""

    def __init__(self, model: ServedModel, kill: int) -> None:
        self._model, self._kill = model, kill
        self.name = model.name
        self.complete = model.complete

    def stream(self, messages: list[Message], *, max_tokens: int = 1024) -> CompletionStream:
        stream = self._model.stream(messages, max_tokens=max_tokens)
        next(iter(stream))
        os.kill(self._kill, signal.SIGKILL)
        return stream


def test_a_server_killed_while_it_writes_leaves_an_extractive_answer_soon(
    demo: Engine, model: ServedModel, server: ModelServer
) -> None:
    engine = Engine(demo.open_index, _Reading(model, _process(server, "server")))  # type: ignore[arg-type]
    began = time.monotonic()
    events = list(engine.events(KOREAN))
    assert time.monotonic() - began < 60
    fallbacks = [event for event in events if isinstance(event, Fallback) and event.stage == "answer"]
    assert [fallback.cause for fallback in fallbacks] == ["unavailable"]
    behind = events[events.index(fallbacks[0]) :]
    # The model's keywords mean nothing, so that what they found need not answer.
    (answer,) = [event for event in behind if isinstance(event, Answer)]
    assert (answer.kind, answer.model) == ("extractive", "")
    # While it is away, answers are extractive at once, and say so; then it is back.
    began = time.monotonic()
    away = Engine(demo.open_index, model).ask(KOREAN)
    assert (away.answer.kind, [each.cause for each in away.search.fallbacks]) == ("extractive", ["unavailable"] * 2)
    assert time.monotonic() - began < 10
    assert server.wait_for("ready", START_SECONDS).phase == "ready"
    assert Engine(demo.open_index, model).ask(ENGLISH).search.model_calls


def test_a_prompt_longer_than_the_context_is_refused_and_answered_without_the_model(
    demo: Engine, model: ServedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shrag.serving.llm.structured_call.fence_records", lambda *given: fence_records(*given) * 20)
    result = Engine(demo.open_index, model).ask(KOREAN)
    (fallback,) = [each for each in result.search.fallbacks if each.stage == "answer"]
    assert fallback.cause == "refused"
    assert "8192" in fallback.message
    assert result.answer.kind == "extractive"
