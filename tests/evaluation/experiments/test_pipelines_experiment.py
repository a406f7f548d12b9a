from __future__ import annotations

import tomllib
from pathlib import Path

from shrag.serving.strategies.pipeline.presets import PRESETS
from shrag.serving.strategies.registry import find_strategy

FILE = Path(__file__).parents[3] / "evaluation" / "experiments" / "specs" / "pipelines.toml"


def test_the_experiment_asks_every_way_and_lines_that_can_be_read() -> None:
    conditions = tomllib.loads(FILE.read_text(encoding="utf-8"))["conditions"]
    strategies = [condition.get("strategy", "shrag") for condition in conditions]
    assert set(PRESETS) <= set(strategies)
    assert all(find_strategy(strategy).name == strategy for strategy in strategies)
