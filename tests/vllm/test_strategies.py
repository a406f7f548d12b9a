"""Questions over a real vLLM whose words mean nothing: one for each strategy, in the soak a hundred."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import NamedTuple

import msgspec
import pytest

from shrag.corpora.formats.topics import read_topics
from shrag.models.chat.settings import LlmSettings
from shrag.models.language_model import Completion, CompletionStream, Message
from shrag.models.model_server.served_model import ServedModel
from shrag.models.model_server.server import ModelServer
from shrag.serving.engine import Engine
from shrag.serving.errors import StrategyUnavailable
from shrag.serving.events import Event, Fallback, ModelCall, Truncated
from shrag.serving.search_settings import PRODUCT
from tests.conftest import DEMO
from tests.support.hostile_input import check_events
from tests.vllm.conftest import START_SECONDS

pytestmark = pytest.mark.vllm

AT_ONCE = 16
"""As many as the server works on at once."""
CHOICES = ("LSTM", "ARIMA", "boosting")

ODD = ["zzzz qqqq", "…?!", "김치찌개 끓이는 법은?", "[ANS_1]", "그래핀 " * 300]
ACROSS = DEMO.parent / "cross_language" / "topics.tsv"
TEXTS = [topic.text for topics in (DEMO / "topics.tsv", ACROSS) for topic in read_topics(topics)][:95] + ODD
"""100 texts: questions of the project's own in both languages, and some that nothing answers."""

CALL_SECONDS = 60.0
MOST_SECONDS = PRODUCT.seconds + 3 * CALL_SECONDS
"""A call begun just before the ration ends, and the repair of it, and the answer."""


class Run(NamedTuple):
    """A question that was asked: its events, how often the model was asked, and how long it took."""

    strategy: str
    text: str
    choices: tuple[str, ...]
    events: list[Event]
    calls: int
    answered: int
    seconds: float


class _Counted:
    """A model, and how often it was asked."""

    def __init__(self, model: ServedModel) -> None:
        self._model = model
        self._turn = threading.Lock()
        self.name = model.name
        self.calls = self.answered = 0

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, object] | None = None,
        *,
        max_tokens: int = 1024,
        urgent: bool = False,
    ) -> Completion:
        with self._turn:
            self.calls += 1
        completion = self._model.complete(messages, schema, max_tokens=max_tokens)
        with self._turn:
            self.answered += 1
        return completion

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> CompletionStream:
        with self._turn:
            self.calls += 1
        return self._model.stream(messages, max_tokens=max_tokens)


@pytest.fixture(scope="module")
def brief(settings: LlmSettings, server: ModelServer) -> Iterator[ServedModel]:
    """Return the model with answers of a sentence or two: how long it goes on is not what this is about."""
    assert server.wait_for("ready", START_SECONDS).phase == "ready"
    few = msgspec.structs.replace(settings, max_tokens=96, timeout=CALL_SECONDS)
    with closing(ServedModel(few, server)) as model:
        yield model


@pytest.fixture(
    scope="module",
    params=[pytest.param(False, id="one each"), pytest.param(True, id="all", marks=pytest.mark.soak)],
)
def runs(request: pytest.FixtureRequest, demo: Engine, brief: ServedModel) -> list[Run]:
    """Ask the last texts by one strategy each, or every text by each of them; every fourth with choices."""
    strategies = Engine(demo.open_index, brief).strategies
    assert len(strategies) == 28
    texts, rounds = (TEXTS, len(strategies)) if request.param else (TEXTS[-len(strategies) :], 1)

    def ask(number: int) -> Run:
        text = texts[number % len(texts)]
        strategy = strategies[(number + number // len(texts)) % len(strategies)]
        choices = CHOICES if number % 4 == 0 else ()
        model = _Counted(brief)
        began = time.monotonic()
        events = list(Engine(demo.open_index, model).events(text, strategy=strategy, choices=choices))
        return Run(strategy, text, choices, events, model.calls, model.answered, time.monotonic() - began)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        done = list(pool.map(ask, range(len(texts) * rounds)))
    for strategy in strategies:
        mine = [run for run in done if run.strategy == strategy]
        events = [event for run in mine for event in run.events]
        print(
            f"{strategy}: {len(mine)} questions, at most {max(run.calls for run in mine)} calls and "
            f"{max(run.seconds for run in mine):.1f} s; "
            f"{sum(isinstance(event, Fallback) for event in events)} fallbacks, "
            f"{sum(isinstance(event, Truncated) for event in events)} cut short"
        )
    return done


def test_every_question_by_every_strategy_ends_in_a_well_formed_answer_or_refusal(runs: list[Run]) -> None:
    assert len({(run.strategy, run.text) for run in runs}) == len(runs)
    assert len({run.strategy for run in runs}) == 28
    for run in runs:
        check_events(run.events, len(run.choices))


def test_every_question_ends_in_bounded_calls_and_time(runs: list[Run]) -> None:
    for run in runs:
        # Beyond the ration: two lists of keywords where nothing is planned, the choice, the answer, each once repaired.
        assert run.calls <= PRODUCT.calls + 5, (run.strategy, run.text)
        assert run.seconds < MOST_SECONDS, (run.strategy, run.text)


def test_every_call_is_told_once(runs: list[Run]) -> None:
    for run in runs:
        told = [event for event in run.events if isinstance(event, ModelCall)]
        assert all(call.model == "tiny-qwen3" and call.prompt_tokens > 20 for call in told)
        causes = {event.cause for event in run.events if isinstance(event, Fallback)}
        # What went wrong between a try and its repair takes the try along, and so does a budget that ends there on a
        # slow machine; what was streamed is told when it ends.
        cut = any(isinstance(event, Truncated) for event in run.events)
        least = 0 if cut or causes - {"invalid_output"} else run.answered
        assert least <= len(told) <= run.calls, (run.strategy, run.text, causes)


def test_what_needs_vectors_of_a_model_still_refuses_in_a_sentence(demo: Engine, brief: ServedModel) -> None:
    for strategy in ("raise-0.84", "raise-0.80"):
        with pytest.raises(StrategyUnavailable, match=r"^The strategy raise-0\.8[04] needs vectors that a model made"):
            Engine(demo.open_index, brief).events(TEXTS[0], strategy=strategy)
