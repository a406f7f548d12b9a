"""The vectors of an index: what is computed once, and who waits for it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import pytest

from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.storage.generations import current_generation
from shrag.indexing.storage.vector_card import FOLDER
from shrag.indexing.vectors.store import StoredDocuments
from shrag.indexing.vectors.vector_index import VectorIndex, VectorReranker
from shrag.serving.engine import Engine


class _Documents:
    """The documents of an index; counts how often their records are read, which waits until it is let on."""

    def __init__(self, searcher: LuceneSearcher) -> None:
        self.reads = 0
        self.reading, self.go_on = threading.Event(), threading.Event()
        self.count, self.docids, self.numbers = searcher.count, searcher.docids, searcher.numbers
        self._documents = searcher.documents

    def documents(self, numbers: Sequence[int]) -> Iterator[AnalyzedRecord]:
        self.reads += 1
        self.reading.set()
        assert self.go_on.wait(30)
        return self._documents(numbers)


@pytest.fixture
def documents(demo: Engine) -> Iterable[_Documents]:
    """Return those of the demonstration."""
    documents = _Documents(cast("LuceneSearcher", demo.open_index.searcher))
    yield documents
    documents.go_on.set()


@pytest.fixture
def dense(demo: Engine, demo_home: Path, documents: _Documents) -> VectorIndex:
    """Return its vectors, opened anew."""
    folder, manifest = current_generation(demo_home / "indexes" / "demo")
    assert manifest.vectors is not None
    stored = cast("StoredDocuments", documents)
    return VectorIndex("demo", manifest.vectors, folder / FOLDER, demo.open_index.analyzer, stored, demo_home)


def test_while_the_means_of_the_languages_are_computed_nothing_else_waits(
    dense: VectorIndex, documents: _Documents
) -> None:
    reranker = VectorReranker(dense)
    with ThreadPoolExecutor(2) as threads:
        means = threads.submit(reranker.language_means, "그래핀")
        assert documents.reading.wait(30)
        assert threads.submit(dense.search, dense.encode("그래핀"), 3).result(30)
        documents.go_on.set()
        assert set(means.result(30)) == {"ko", "en"}


def test_means_that_were_prepared_are_not_computed_again(dense: VectorIndex, documents: _Documents) -> None:
    documents.go_on.set()
    dense.prepare_means()
    assert documents.reads == 1
    assert dense.language_means(dense.encode("그래핀")) == dense.language_means(dense.encode("그래핀"))
    assert documents.reads == 1


def test_the_name_of_the_re_ranker_is_known_without_its_files(
    dense: VectorIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    reranker = VectorReranker(dense)
    monkeypatch.setattr(VectorIndex, "_open", lambda _: pytest.fail("the files were looked at"))
    assert (reranker.name, reranker.is_model) == ("LSA cosine", False)


def test_a_languages_centre_is_drawn_to_the_middle_as_by_five_documents(
    dense: VectorIndex, documents: _Documents, demo: Engine
) -> None:
    documents.go_on.set()
    question = dense.encode("그래핀")
    searcher = cast("LuceneSearcher", demo.open_index.searcher)
    languages = [each.record.language for each in searcher.documents(range(searcher.count()))]
    rows = {language: [n for n, each in enumerate(languages) if each == language] for language in ("ko", "en")}
    means = {language: dense._open().rows.mean(numbers) @ question[0] for language, numbers in rows.items()}
    middle = (means["ko"] + means["en"]) / 2
    for language, found in dense.language_means(question).items():
        share = len(rows[language]) / (len(rows[language]) + 5)
        assert found == pytest.approx(middle + share * (means[language] - middle), abs=1e-6)
