from __future__ import annotations

from collections import Counter
from typing import cast

import pytest

from bench.server.filter_speed import FILTERS, STRATEGIES, measure
from shrag.serving.engine import Engine


class _Asked:
    """Stands for an engine, and notes what it is asked: question, strategy, filter, facets."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, object, object]] = []

    def search(self, question: str, *, strategy: str, record_filter: object = None, facets: object = None) -> None:
        self.calls.append((question, strategy, record_filter, facets))


def test_no_condition_pays_for_the_first_search_of_a_question(capsys: pytest.CaptureFixture[str]) -> None:
    engine, questions = _Asked(), [str(number) for number in range(48)]
    measure(cast(Engine, engine), questions)
    conditions = 2 * len(STRATEGIES) * len(FILTERS)
    size = len(STRATEGIES) + conditions
    each = [engine.calls[at : at + size] for at in range(0, len(engine.calls), size)]
    first: Counter[object] = Counter()
    for asked in each[20:]:
        assert len({question for question, *_ in asked}) == 1
        assert [call[1:] for call in asked[: len(STRATEGIES)]] == [(name, None, None) for name in STRATEGIES]
        assert len({call[1:] for call in asked[len(STRATEGIES) :]}) == conditions
        first[asked[len(STRATEGIES)][1:]] += 1
    assert set(first.values()) == {2}
    assert len(first) == conditions
    assert capsys.readouterr().out.startswith("48 questions")
