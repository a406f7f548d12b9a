"""The engine that stays; what it has in common with an index kept current is in ``tests/contracts``."""

from __future__ import annotations

from shrag.serving.engine import Engine
from shrag.serving.engine_source import FixedEngine
from tests.serving.live import KeptEngine


def test_closing_a_fixed_engine_waits_until_it_is_closed(demo: Engine) -> None:
    closed: list[bool] = []

    class Noted(KeptEngine):
        def close(self) -> None:
            closed.append(True)

    fixed = FixedEngine(Noted(demo.open_index))
    fixed.close()
    fixed.close()
    assert closed == [True]


def test_a_fixed_engine_that_is_in_use_is_not_waited_for(demo: Engine) -> None:
    fixed = FixedEngine(KeptEngine(demo.open_index))
    with fixed.use() as engine:
        fixed.close()
        assert engine.document("DEMO-SOC-012") is not None
