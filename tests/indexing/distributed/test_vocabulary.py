"""The vocabulary of a generation, and the sparse vectors that are made with it."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from shrag.indexing.bm25 import Bm25
from shrag.indexing.distributed import vocabulary as module
from shrag.indexing.distributed.sparse_vectors import (
    NO_TERM,
    document_vector,
    sparse_vector,
    term_numbers,
    term_weights,
)
from shrag.indexing.distributed.vocabulary import KnownTerm, Vocabulary, VocabularyHeader, write_vocabulary
from shrag.indexing.errors import IndexDamaged
from shrag.indexing.search_engine import FieldStatistics, SearchEngine, Statistics

HEADER = VocabularyHeader("digest", 10, (9, 4.0), (8, 1.5), Bm25())
WORDS = ["a", "b", "film", "그래핀", "필름"]  # in the order of their UTF-8 bytes


class _Engine:
    """An engine of ten documents, of which the word at place n is in n + 1, and in the titles of n."""

    def statistics(self, terms: Sequence[str]) -> Statistics:
        return Statistics(
            FieldStatistics(9, 4.0, {term: WORDS.index(term) + 1 for term in terms}),
            FieldStatistics(8, 1.5, {term: WORDS.index(term) for term in terms}),
        )


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Vocabulary]:
    """Yield a vocabulary of five words that is written and read two words at a time."""
    monkeypatch.setattr(module, "_BATCH", 2)
    monkeypatch.setattr(module, "_ASKED", 2)
    monkeypatch.setattr(module, "_CACHED_TERMS", 3)
    path = tmp_path / "loads" / "vocabulary.sqlite"
    path.parent.mkdir()
    path.with_name("vocabulary.sqlite.draft").write_bytes(b"of a killed load")
    for source in ("earlier", "digest"):
        write_vocabulary(path, source, 10, WORDS, cast("SearchEngine", _Engine()), Bm25())
    assert [each.name for each in path.parent.iterdir()] == ["vocabulary.sqlite"]
    vocabulary = Vocabulary(path)
    yield vocabulary
    vocabulary.close()


def test_a_term_has_the_number_of_its_place_and_its_document_frequencies(opened: Vocabulary) -> None:
    assert opened.header == HEADER
    wanted = {word: KnownTerm(place, place + 1, place) for place, word in enumerate(WORDS)}
    for terms in (WORDS, WORDS[:2], [*WORDS[3:], "unknown", "\ud800"], ["unknown"], ["b"], WORDS):  # cached or not
        assert opened.terms(terms) == {term: wanted[term] for term in terms if term in wanted}
    found = opened.statistics(["film", "unknown"])
    assert found.contents == FieldStatistics(9, 4.0, {"film": 3, "unknown": 0})
    assert found.title == FieldStatistics(8, 1.5, {"film": 2, "unknown": 0})


@pytest.mark.parametrize("change", ["DROP TABLE header", "DELETE FROM header", "UPDATE header SET json = x'7b'"])
def test_a_file_without_the_figures_of_a_generation_is_damaged(opened: Vocabulary, change: str, tmp_path: Path) -> None:
    path = tmp_path / "loads" / "vocabulary.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(change)
    with pytest.raises(IndexDamaged, match=r"is not the vocabulary of an index .*: delete it and load the index again"):
        Vocabulary(path)


def test_a_documents_weights_are_those_of_bm25_without_the_idf() -> None:
    known = {"a": KnownTerm(3, 5, 2), "b": KnownTerm(1, 3, 0)}
    vector = document_vector(["a", "a", "b"], ["a"], known, HEADER)
    assert vector.dimensions.tolist() == [2, 6, 7]  # b in the contents, then a in both fields
    # Contents: 0.9 · (0.6 + 0.4 · 3 / 4) = 0.81; title: 0.9 · (0.6 + 0.4 · 1 / 1.5) = 0.78.
    assert vector.weights.tolist() == pytest.approx([1 / 1.81, 2 / 2.81, 1 / 1.78])
    empty = document_vector([], [], known, HEADER)
    assert (empty.dimensions.tolist(), empty.weights.tolist()) == ([NO_TERM], [1.0])
    assert sparse_vector({}).dimensions.tolist() == []
    assert term_numbers(["a", "b", "a"], known) == (1, 3)
    for terms in (["c"], ["a", "c"]):
        with pytest.raises(IndexDamaged, match="lacks the term 'c' of a record"):
            document_vector(terms, [], known, HEADER)


def test_a_querys_weights_are_the_idf_of_each_field_that_has_the_term() -> None:
    weights = term_weights(KnownTerm(3, 5, 2), HEADER)
    assert weights == {6: pytest.approx(math.log(1 + 4.5 / 5.5)), 7: pytest.approx(0.2 * math.log(1 + 6.5 / 2.5))}
    assert term_weights(KnownTerm(1, 3, 0), HEADER) == {2: pytest.approx(math.log(1 + 6.5 / 3.5))}
    alone = VocabularyHeader("digest", 10, (9, 4.0), (8, 1.5), Bm25(title_boost=0.0))
    assert list(term_weights(KnownTerm(3, 5, 2), alone)) == [6]
