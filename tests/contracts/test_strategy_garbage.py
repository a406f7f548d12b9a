"""Contract of strategies with a language model that writes anything: bounded calls, and an answer or a refusal."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shrag.serving.engine import Engine
from shrag.serving.events import ModelCall
from shrag.serving.search_settings import PRODUCT
from shrag.serving.strategies.registry import STRATEGIES
from tests.support.hostile_input import HOSTILE, GarbageModel, check_events

QUESTIONS = ("LSTM은 양파와 지하수위를 얼마나 잘 예측하는가?", "Was graphene or onion tested first?", "zzzz qqqq")
CHOICES = ("LSTM", "ARIMA", "boosting")


# The paper's thresholds need the vectors of a model; those ways walk as raise does.
_NAMES = [name for name in STRATEGIES if name not in ("raise-0.84", "raise-0.80")]


@pytest.mark.slow
@pytest.mark.parametrize("name", _NAMES)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(max_size=40), max_size=6), seed=st.integers(0, 2**32), asked=st.sampled_from(QUESTIONS))
def test_any_output_of_a_model_ends_in_bounded_calls_with_an_answer_or_a_refusal(
    demo: Engine, name: str, texts: list[str], seed: int, asked: str
) -> None:
    model = GarbageModel([*texts, *HOSTILE], seed)
    choices = CHOICES if seed % 2 else ()
    events = list(Engine(demo.open_index, model=model).events(asked, strategy=name, choices=choices))
    check_events(events, len(choices))
    assert model.calls <= PRODUCT.calls + 1
    assert sum(isinstance(event, ModelCall) for event in events) <= model.calls
