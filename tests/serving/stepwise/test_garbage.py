from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shrag.serving.engine import Engine
from shrag.serving.events import ModelCall
from shrag.serving.planning.rationed_model import Ration
from shrag.serving.stepwise.ways import WAYS, Way
from tests.serving.garbage import HOSTILE, GarbageModel
from tests.serving.well_formed import check_events

QUESTIONS = ("LSTM은 양파와 지하수위를 얼마나 잘 예측하는가?", "Was graphene or onion tested first?", "zzzz qqqq")
CHOICES = ("LSTM", "ARIMA", "boosting")


# The paper's thresholds need the vectors of a model; those ways walk as raise does.
_WAYS = [way for way in WAYS if not isinstance(way.threshold, float)]


@pytest.mark.parametrize("way", _WAYS, ids=lambda way: way.name)
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(max_size=40), max_size=6), seed=st.integers(0, 2**32), asked=st.sampled_from(QUESTIONS))
def test_whatever_a_model_writes_a_question_ends_in_bounded_calls_with_an_answer_or_a_refusal(
    demo: Engine, way: Way, texts: list[str], seed: int, asked: str
) -> None:
    model = GarbageModel([*texts, *HOSTILE], seed)
    choices = CHOICES if seed % 2 else ()
    events = list(Engine(demo.open_index, model=model).events(asked, strategy=way.name, choices=choices))
    check_events(events, len(choices))
    assert model.calls <= Ration().calls + 1
    assert sum(isinstance(event, ModelCall) for event in events) <= model.calls
