from __future__ import annotations

from pathlib import Path

from shrag.corpora.ingest.demonstration import DEMO, add_demonstration, is_added


def test_what_a_failed_addition_leaves_is_no_demonstration_corpus(tmp_path: Path) -> None:
    assert not is_added(tmp_path)
    (tmp_path / DEMO).mkdir()
    (tmp_path / DEMO / ".lock").touch()
    assert not is_added(tmp_path)
    add_demonstration(tmp_path)
    assert is_added(tmp_path)
