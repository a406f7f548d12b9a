from __future__ import annotations

import sys

import pytest

from shrag.evaluation.peers.bm25s import Bm25sPeer
from shrag.indexing.bm25 import idf
from shrag.indexing.errors import DependencyMissing


def test_a_score_is_lucenes_formula_with_the_librarys_parameters() -> None:
    contents = [("a", "learned networks learned things"), ("b", "salt marsh"), ("c", "salt")]
    with Bm25sPeer("bm25s").open(contents) as search:
        (found,) = search("the networks", 10)
    norm = 1.5 * (1 - 0.75 + 0.75 * 4 / (7 / 3))
    assert found.docid == "a"
    assert found.score == pytest.approx(idf(1, 3) / (1 + norm), rel=1e-5)


def test_words_are_stemmed_and_morphemes_found_by_the_peers_that_say_so() -> None:
    contents = [("a", "learned networks"), ("b", "인공신경망의 학습")]

    def found(name: str) -> list[list[str]]:
        with Bm25sPeer(name).open(contents) as search:
            return [[hit.docid for hit in search(question, 10)] for question in ("network", "신경망")]

    assert found("bm25s") == [[], []]
    assert found("bm25s-english") == [["a"], []]
    assert found("bm25s-kiwi") == [["a"], ["b"]]


def test_where_the_library_is_not_installed_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(DependencyMissing, match=r"^bm25s is not installed .*: run `pip install 'shrag\[peers\]'`\.$"):
        Bm25sPeer("bm25s").open([("a", "salt")]).__enter__()


def test_there_is_no_other_tokenizer() -> None:
    with pytest.raises(ValueError, match=r"^name must be one of bm25s, bm25s-english, bm25s-kiwi, got 'okt'$"):
        Bm25sPeer("okt")
