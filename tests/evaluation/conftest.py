"""Results that many tests read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.built_once import built_once
from tests.support.small_experiment import run_small


@pytest.fixture(scope="session")
def results_folder(demo_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the finished results of the small experiment, plots too. Tests only read it."""

    def build(folder: Path) -> None:
        run_small(demo_home, folder, plots=True, command=("shrag", "experiment", "small.toml"))

    return built_once(tmp_path_factory, "small", build)
