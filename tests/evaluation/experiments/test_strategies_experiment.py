"""The experiment ``strategies`` includes every strategy that works without a model, and names all others."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrag.evaluation.experiments.spec import Experiment
from shrag.evaluation.experiments.spec_file import find_experiment, narrow_experiment, read_experiment
from shrag.evaluation.reports.table import SetTable
from shrag.serving.engine import open_engine
from shrag.serving.strategies.pipeline.presets import PRESETS
from shrag.serving.strategies.pipeline.strategy import PipelineStrategy
from shrag.serving.strategies.registry import STRATEGIES, find_strategy
from tests.support.small_experiment import run_small

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    return read_experiment(find_experiment("strategies"))


@pytest.fixture(scope="module")
def demo(demo_home: Path, experiment: Experiment, tmp_path_factory: pytest.TempPathFactory) -> SetTable:
    lexical = [each.name for each in experiment.conditions if not each.encoder]
    narrowed = narrow_experiment(experiment, ["demo"], lexical, 6)
    (table,) = run_small(demo_home, tmp_path_factory.mktemp("results") / "strategies", narrowed).table.sets
    return table


def test_every_strategy_is_asked_without_a_model_or_said_to_need_what_is_not_there(
    demo_home: Path, experiment: Experiment
) -> None:
    asked = {each.strategy for each in experiment.conditions}
    text = find_experiment("strategies").read_text(encoding="utf-8")
    engine = open_engine(demo_home / "indexes", "demo")
    try:
        without_model = set(engine.strategies)
    finally:
        engine.close()
    assert without_model <= asked
    left_out = set(STRATEGIES) - asked
    assert left_out == set(STRATEGIES) - without_model
    assert all(f"`{name}`" in text for name in left_out)
    assert all(each.model is False for each in experiment.conditions)


def test_each_way_stands_as_it_is_served_and_with_room_for_ten(experiment: Experiment) -> None:
    conditions = {each.name: each.strategy for each in experiment.conditions}
    for name in PRESETS:
        assert conditions[name] == name
        ten = find_strategy(conditions[f"{name}-ten"])
        assert isinstance(ten, PipelineStrategy)
        assert "(10)" in str(ten.pipeline)
        assert str(PRESETS[name]).replace("(5)", "(10)") == str(ten.pipeline)


def test_it_runs_and_a_way_of_five_cannot_hold_more_than_a_way_of_ten(demo: SetTable) -> None:
    means = {row.condition: row.cells["AllRecall@10"].mean for row in demo.rows}
    assert set(PRESETS) < set(means)
    assert all(means[name] <= means[f"{name}-ten"] for name in ("pipeline-1", "pipeline-2"))
    assert all(row.errors == 0 for row in demo.rows)
    assert means["shrag"] > 0.5
