"""An index of two generations with different contents, for tests in which one takes the other's place."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shrag.indexing.maintenance.history import roll_back
from shrag.indexing.storage.generations import generation_folder
from tests.support.published import two_contents


@pytest.fixture(scope="session")
def contents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an index folder with generations of two contents. Tests only read it."""
    home = tmp_path_factory.mktemp("contents") / "home"
    two_contents(home)
    return home / "indexes" / "demo"


@pytest.fixture
def index(contents: Path, tmp_path: Path) -> Path:
    """Return an index folder whose current generation, 1, has the first content; a test may change it."""
    folder = tmp_path / "indexes" / "demo"
    shutil.copytree(contents, folder)
    roll_back(folder.parent, "demo", to=1)
    shutil.rmtree(generation_folder(folder, 2))
    return folder
