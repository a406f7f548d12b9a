"""Words analyzed by one build are taken by the next, in any corpus, and change nothing of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from shrag.corpora.files import lock_folder
from shrag.indexing.analysis.token_store import FILE, TokenStore, write_token_store
from shrag.indexing.build import builder, word_cache
from shrag.indexing.build.builder import build_index
from shrag.indexing.build.word_cache import cache_folder, share_words, take_words
from tests.indexing.conftest import index_identity

WORDS = [("가나", b"[]"), ("다라", b"[]")]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Return the folder of shared words, with two of the analyzer ``a``."""
    write_token_store(tmp_path / "store", WORDS)
    share_words(tmp_path / "words", "a", tmp_path / "store")
    return tmp_path / "words"


def _words(path: Path | None) -> list[tuple[str, bytes]]:
    if path is None:
        return []
    with closing(TokenStore(path)) as store:
        return store.words()


def _files(cache: Path) -> list[Path]:
    return sorted(path for path in cache.iterdir() if path.name != ".lock")


def test_words_are_shared_by_builds_of_the_same_analyzer(cache: Path, tmp_path: Path) -> None:
    assert _words(take_words(cache, "a", tmp_path / "taken")) == WORDS
    assert take_words(cache, "b", tmp_path / "other") is None
    write_token_store(tmp_path / "store", [("가나", b"[]"), ("마바", b"[]")])
    share_words(cache, "a", tmp_path / "store")
    assert [word for word, _ in _words(take_words(cache, "a", tmp_path / "taken"))] == ["가나", "다라", "마바"]
    (before,) = _files(cache)
    share_words(cache, "a", tmp_path / "store")  # nothing new
    assert _files(cache) == [before]


def test_what_a_build_has_taken_stays_as_it_was(cache: Path, tmp_path: Path) -> None:
    taken = take_words(cache, "a", tmp_path / "taken")
    write_token_store(tmp_path / "store", [("마바", b"[]")])
    share_words(cache, "a", tmp_path / "store")
    assert _words(taken) == WORDS


@pytest.mark.parametrize("linked", [True, False])
def test_damaged_words_are_not_taken_and_removed(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, linked: bool
) -> None:
    if not linked:
        monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError(18, "Invalid cross-device link")))
    (file,) = _files(cache)
    assert _words(take_words(cache, "a", tmp_path / "taken")) == WORDS
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(bytes(data))
    assert take_words(cache, "a", tmp_path / "taken") is None
    assert (_files(cache), (tmp_path / "taken").exists()) == ([], False)


def test_too_many_words_and_files_are_dropped(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_cache, "_MOST_BYTES", 1)
    write_token_store(tmp_path / "store", [("마바", b"[]")])
    share_words(cache, "a", tmp_path / "store")
    assert _words(take_words(cache, "a", tmp_path / "taken")) == [("마바", b"[]")]
    for analyzer in "bcd":
        share_words(cache, analyzer, tmp_path / "store")
    assert len(_files(cache)) == 3
    assert take_words(cache, "a", tmp_path / "taken") is None


def test_a_build_that_finds_another_one_writing_leaves_its_words_out(cache: Path, tmp_path: Path) -> None:
    write_token_store(tmp_path / "store", [("마바", b"[]")])
    with lock_folder(cache):
        share_words(cache, "a", tmp_path / "store")
    assert _words(take_words(cache, "a", tmp_path / "taken")) == WORDS


@pytest.mark.slow
def test_a_corpus_is_indexed_the_same_with_the_words_of_another(
    tmp_path: Path, grow_corpus: Callable[[Path, str, int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builder, "LEAST_RECORDS", 1)
    for home, names in (("shared", ("first", "second")), ("alone", ("second",))):
        for name, count in (("first", 60), ("second", 40)):
            if name in names:
                grow_corpus(tmp_path / home, name, count)
                build_index(tmp_path / home / "corpora", tmp_path / home / "indexes", name)
    (shared,) = _files(cache_folder(tmp_path / "shared" / "indexes"))
    first, second = (tmp_path / "shared" / "indexes" / name / "gen-000001" / FILE for name in ("first", "second"))
    assert {*_words(first), *_words(second)} == set(_words(shared))
    assert index_identity(tmp_path / "shared" / "indexes" / "second") == index_identity(
        tmp_path / "alone" / "indexes" / "second"
    )
