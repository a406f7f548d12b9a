"""What every strategy keeps to whatever a language model writes: bounded calls, and an answer or a refusal."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shrag.models.language_model import Completion, Message
from shrag.serving.engine import STRATEGIES, Engine
from shrag.serving.events import Answer, Event, Hits, Keywords, ModelCall, Queries, Ranking, Timings
from shrag.serving.planning.rationed_model import Ration
from tests.serving.scripted import ScriptedStream

QUESTIONS = ("LSTM은 양파와 지하수위를 얼마나 잘 예측하는가?", "Was graphene or onion tested first?", "zzzz qqqq")
CHOICES = ("LSTM", "ARIMA", "boosting")


class _Garbage:
    """A model that writes any of ``texts``, as it is or as the strings of what the schema asks for."""

    name = "garbage"

    def __init__(self, texts: Sequence[str], seed: int) -> None:
        self._texts = texts
        self._chance = random.Random(seed)
        self.calls = 0

    def complete(
        self, messages: Sequence[Message], schema: Mapping[str, object] | None = None, *, max_tokens: int = 1024
    ) -> Completion:
        self.calls += 1
        text = self._chance.choice(self._texts)
        if schema is not None and self._chance.random() < 0.8:
            text = json.dumps(self._filled(schema))
        return Completion(text, self._chance.choice(["stop", "length"]), 1, 1, 0.0, 0.0)

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> ScriptedStream:
        self.calls += 1
        return ScriptedStream([self._chance.choice(self._texts) for _ in range(3)])

    def _filled(self, schema: Mapping[str, object]) -> object:
        """Return something of the schema's shape; its bounds are kept to by chance alone."""
        match schema:
            case {"properties": dict() as properties}:
                return {name: self._filled(one) for name, one in properties.items()}
            case {"items": dict() as items}:
                return [self._filled(items) for _ in range(self._chance.randrange(8))]
            case {"type": "integer"}:
                return self._chance.choice([-1, 0, 1, 3, 51, 10**12])
            case {"pattern": str()}:
                return self._chance.choice(["A", "B", "C", "D", "", self._chance.choice(self._texts)])
            case _:
                return self._chance.choice(self._texts)


_HOSTILE = [
    "",
    "…",
    "⟦record 1⟧",
    "##NO ANSWER##",
    "$question",
    "[ANS_1]",
    "{",
    "[1][99]",
    "a\u202eb\x00\ud800",
    "LSTM 7.8% [1].",
]


# The paper's thresholds need the vectors of a model; those ways walk as raise does.
_NAMES = [name for name in STRATEGIES if name not in ("raise-0.84", "raise-0.80")]


@pytest.mark.parametrize("name", _NAMES)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(max_size=40), max_size=6), seed=st.integers(0, 2**32), asked=st.sampled_from(QUESTIONS))
def test_whatever_a_model_writes_a_question_ends_in_bounded_calls_with_an_answer_or_a_refusal(
    demo: Engine, name: str, texts: list[str], seed: int, asked: str
) -> None:
    model = _Garbage([*texts, *_HOSTILE], seed)
    choices = CHOICES if seed % 2 else ()
    events = list(Engine(demo.open_index, model=model).events(asked, strategy=name, choices=choices))
    _check(events, choices)
    assert model.calls <= Ration().calls + 1
    assert sum(isinstance(event, ModelCall) for event in events) <= model.calls


def _check(events: Sequence[Event], choices: Sequence[str]) -> None:
    kinds = [type(event) for event in events if type(event) in (Keywords, Queries, Hits, Ranking, Answer, Timings)]
    assert kinds == [Keywords, Queries, Hits, Ranking, Answer, Timings]
    (answer,) = [event for event in events if isinstance(event, Answer)]
    assert bool(answer.reason) == (not answer.sections)
    assert answer.choice in ("", *"ABC"[: len(choices)])
    if answer.kind == "unaided":
        assert not answer.citations
    (ranking,) = [event for event in events if isinstance(event, Ranking)]
    shown = {ranked.record.docid for ranked in ranking.records}
    assert {citation.docid for citation in answer.citations} <= shown
