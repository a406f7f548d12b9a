from __future__ import annotations

from pathlib import Path

import pytest

from shrag.models.encoders import installed
from shrag.models.encoders.installed import installed_encoders, missing_packages


def test_encoders_are_found_by_name_or_by_their_file_for_pooling(tmp_path: Path) -> None:
    assert installed_encoders(tmp_path / "absent") == []
    (tmp_path / "some-language-model").mkdir()
    (tmp_path / "gte-multilingual-reranker-base").mkdir()
    assert installed_encoders(tmp_path) == []
    (tmp_path / "arctic" / "1_Pooling").mkdir(parents=True)
    (tmp_path / "arctic" / "1_Pooling" / "config.json").touch()
    (tmp_path / "models--BAAI--bge-m3" / "snapshots" / "0").mkdir(parents=True)
    (tmp_path / "own" / "1_Pooling").mkdir(parents=True)
    (tmp_path / "own" / "1_Pooling" / "config.json").touch()
    assert installed_encoders(tmp_path) == ["snowflake-arctic-embed-l-v2.0", "bge-m3", str(tmp_path / "own")]


def test_packages_that_are_not_installed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "find_spec", lambda name: None if name == "torch" else object())
    assert missing_packages() == ["torch"]
