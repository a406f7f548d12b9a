from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from shrag.indexing.analysis.token_store import TokenStore
from shrag.indexing.errors import IndexDamaged
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.open_index import ChecksumVerifier, open_index
from shrag.indexing.storage.generations import current_number
from shrag.messages.text import Text, in_language
from shrag.serving.engine import Engine


def test_an_index_that_cannot_be_opened_leaves_no_file_open(demo_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    def note_close(kind: type[Any]) -> None:
        close = kind.close

        def noted(self: object) -> None:
            closed.append(kind.__name__)
            close(self)

        monkeypatch.setattr(kind, "close", noted)

    def fail(path: Path) -> None:
        raise IndexDamaged(f"{path} is odd")

    for kind in (ChecksumVerifier, TokenStore, LuceneSearcher):
        note_close(kind)
    monkeypatch.setattr("shrag.indexing.open_index.Glossary", fail)
    with pytest.raises(IndexDamaged, match="is odd"):
        open_index(demo_home / "indexes", "demo")
    assert closed == ["LuceneSearcher", "TokenStore", "ChecksumVerifier"]


def test_damage_found_earlier_is_reported_in_the_language_of_whoever_asks(demo: Engine, tmp_path: Path) -> None:
    checksums = ChecksumVerifier(tmp_path, demo.manifest, None)
    checksums.raise_if_damaged()
    checksums.report(IndexDamaged(Text("Index {name}: {error}.", name="demo", error="odd")))
    with pytest.raises(IndexDamaged) as raised:
        checksums.raise_if_damaged()
    assert (str(raised.value), in_language(raised.value, "ko")) == ("Index demo: odd.", "색인 demo: odd.")


def test_an_index_whose_generation_is_removed_while_it_is_opened_is_opened_at_the_current_one(
    demo_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = current_number(demo_home / "indexes" / "demo")
    opening: list[Path] = []

    def token_store(path: Path) -> TokenStore:
        opening.append(path)
        return TokenStore(path if len(opening) > 1 else path.with_name("removed"))

    monkeypatch.setattr("shrag.indexing.open_index.TokenStore", token_store)
    with pytest.raises(sqlite3.OperationalError):  # the generation is still the current one
        open_index(demo_home / "indexes", "demo")
    opening.clear()
    monkeypatch.setattr("shrag.indexing.open_index.read_current", lambda _: (0, ""))
    with closing(open_index(demo_home / "indexes", "demo")) as opened:
        assert (opened.manifest.generation, len(opening)) == (number, 2)
