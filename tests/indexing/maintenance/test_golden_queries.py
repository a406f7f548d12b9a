"""Golden queries: what is stored of them, and which differences of their hits are found."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import cast

import msgspec
import pytest

from shrag.corpora.records import Record
from shrag.indexing.analyzed_record import AnalyzedRecord, pack_record
from shrag.indexing.bm25 import Bm25
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.lexical.writer import LuceneIndexWriter
from shrag.indexing.maintenance.golden_queries import (
    FILE,
    GoldenQuery,
    sample,
    verify_golden_queries,
    write_golden_queries,
)
from shrag.indexing.query import Query
from shrag.indexing.record_filter import EVERY_RECORD, RecordFilter
from shrag.indexing.search_engine import Hit, SearchEngine

STORED = (("a", 1.0), ("b", 0.5), ("c", 0.5))


class _Found:
    """An engine whose every search has the same hits."""

    def __init__(self, *hits: tuple[str, float]) -> None:
        self.hits = [Hit(*hit) for hit in hits]

    def search(self, queries: Sequence[Query], k: int, record_filter: RecordFilter = EVERY_RECORD) -> list[list[Hit]]:
        return [self.hits[:k] for _ in queries]


class _FoundByLucene(_Found, LuceneSearcher):
    """The engine that builds indexes, with such hits."""


def _difference(path: Path, engine: _Found) -> str:
    path.write_bytes(msgspec.json.encode([GoldenQuery(("some", "words"), STORED)]))
    ((query, difference),) = verify_golden_queries(path, cast("SearchEngine", engine))
    assert query == "some words"
    return difference


def test_the_sample_is_spread_over_all_documents_and_has_each_once() -> None:
    assert (sample(0), sample(1), sample(3), sample(10, 4)) == ([], [0], [0, 1, 2], [0, 2, 5, 7])
    assert sample(1_000) == list(range(0, 1_000, 50))


def test_the_first_eight_words_of_records_are_stored_with_their_ten_best_hits(tmp_path: Path) -> None:
    records = [
        AnalyzedRecord(Record(f"r{number:02}", "t", "x", "en", complete=True), "all", (words,))
        for number, words in enumerate(["b c b d e f g h i j k", *["common"] * 11])
    ]
    records.append(AnalyzedRecord(Record("empty", "t", "x", "en", complete=True), "", ("",)))
    with LuceneIndexWriter(tmp_path / FOLDER, Bm25()) as writer:
        writer.add(map(pack_record, records))
        writer.commit({})
    write_golden_queries(tmp_path, Bm25())
    stored = msgspec.json.decode((tmp_path / FILE).read_bytes(), type=list[GoldenQuery])
    assert [query.terms for query in stored] == [tuple("all b c d e f g h".split()), *[("all", "common")] * 11]
    assert [docid for docid, _ in stored[1].hits] == [f"r{number:02}" for number in range(1, 11)]
    with closing(LuceneSearcher(tmp_path / FOLDER, Bm25())) as searcher:
        assert {difference for _, difference in verify_golden_queries(tmp_path / FILE, searcher)} == {""}


@pytest.mark.parametrize(
    ("hits", "difference"),
    [
        (STORED, ""),
        ((("a", 1.0), ("c", 0.5), ("b", 0.5)), "finds c (0.500000) at rank 2, b (0.500000) when it was built"),
        ((("a", 1.000001), *STORED[1:]), "finds a (1.000001) at rank 1, a (1.000000) when it was built"),
        ((("a", 1.0000004), *STORED[1:]), ""),
        (STORED[:2], "finds 2 records, 3 when it was built"),
        ((*STORED, ("d", 0.1)), "finds 4 records, 3 when it was built"),
        ((), "finds 0 records, 3 when it was built"),
    ],
)
def test_lucene_must_find_the_same_hits_with_the_same_scores(
    hits: Sequence[tuple[str, float]], difference: str, tmp_path: Path
) -> None:
    assert _difference(tmp_path / FILE, _FoundByLucene(*hits)) == difference


@pytest.mark.parametrize(
    ("hits", "difference"),
    [
        ((("a", 1.0002), ("c", 0.5001), ("b", 0.4999)), ""),
        ((*STORED[:2], ("d", 0.5)), ""),  # another record with the score of the last place
        ((("a", 1.0003), *STORED[1:]), "finds a (1.000300) at rank 1, a (1.000000) when it was built"),
        ((("d", 1.0), *STORED[1:]), "finds d (1.000000) at rank 1, a (1.000000) when it was built"),
        ((("b", 1.0), ("a", 0.5), STORED[2]), "finds b (1.000000) at rank 1, a (1.000000) when it was built"),
        (STORED[:1], "finds 1 records, 3 when it was built"),
    ],
)
def test_another_engine_may_round_and_change_places_among_equal_scores(
    hits: Sequence[tuple[str, float]], difference: str, tmp_path: Path
) -> None:
    assert _difference(tmp_path / FILE, _Found(*hits)) == difference
