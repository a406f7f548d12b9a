"""Search over a collection with low limits: it asks for more candidates until its hits are certain, or says that they
are not.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cachetools import LRUCache

from shrag.corpora.records import Language, Record
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.bm25 import Bm25
from shrag.indexing.distributed import searcher as module
from shrag.indexing.distributed.collection import (
    EVERYTHING,
    Between,
    Condition,
    Every,
    Has,
    Part,
    Row,
    Scored,
    Some,
    SparseVector,
    StoredParts,
    Without,
)
from shrag.indexing.distributed.load import copy_documents
from shrag.indexing.distributed.searcher import DistributedSearcher
from shrag.indexing.distributed.vocabulary import Vocabulary, write_vocabulary
from shrag.indexing.errors import IndexDamaged, TooManyCandidates
from shrag.indexing.query import And, Boost, DisjunctionMax, Not, Or, Query, Term, any_of
from shrag.indexing.record_filter import EVERY_RECORD, NO_FACETS, RecordFilter
from shrag.indexing.search_engine import Hit
from shrag.models.encoder import Vectors
from tests.contracts.test_search_engine import MemoryEngine

WORDS = "abcdef"
FILTERS = (EVERY_RECORD, RecordFilter(language=("ko",)), RecordFilter(year_from=2004), RecordFilter(author=("nobody",)))


def _analyzed(number: int, chance: random.Random) -> AnalyzedRecord:
    language: Language = "ko" if number % 3 else "en"
    year = 2000 + number % 8 if number % 8 else None
    title, text = (" ".join(chance.choices(WORDS, k=chance.randrange(most))) for most in (3, 7))
    record = Record(f"d{(number * 37) % 60:02}", title, text, language, True, authors=(f"Kim {number % 5}",), year=year)
    return AnalyzedRecord(record, title, (text,) if text else ())


RECORDS = [_analyzed(number, random.Random(number)) for number in range(60)]
_DRAWN = np.random.default_rng(1).standard_normal((60, 4))
VECTORS = (_DRAWN / np.linalg.norm(_DRAWN, axis=1, keepdims=True)).astype(np.float16)


class _Documents:
    """The records by their numbers."""

    def count(self) -> int:
        return len(RECORDS)

    def documents(self, numbers: Sequence[int]) -> Iterator[AnalyzedRecord]:
        return (RECORDS[number] for number in numbers)


class _Collection:
    """A collection in memory, which refuses to give more than ``most`` documents at once."""

    def __init__(self, most: int) -> None:
        self.rows: dict[int, Row] = {}
        self.most = most
        self.depths: list[int] = []
        self.reads = 0

    def upsert(self, rows: Sequence[Row]) -> None:
        self.rows.update({row.number: row for row in rows})

    def search(self, queries: Sequence[SparseVector], k: int, condition: Condition = EVERYTHING) -> list[Scored]:
        assert 0 < k <= self.most
        self.depths.append(k)
        return [self._best(query, k, condition) for query in queries]

    def search_dense(self, queries: Vectors, k: int, condition: Condition = EVERYTHING) -> list[Scored]:
        assert 0 < k <= self.most
        rows = [row for row in self.rows.values() if _meets(row, condition)]
        found = [[(row.number, float(row.dense @ query)) for row in rows if row.dense is not None] for query in queries]
        return [sorted(each, key=lambda hit: -hit[1])[:k] for each in found]

    def read(self, numbers: Sequence[int], parts: Sequence[Part]) -> dict[int, StoredParts]:
        assert len(numbers) <= self.most
        self.reads += 1
        rows = [self.rows[number] for number in numbers if number in self.rows]
        return {row.number: StoredParts(row.docid, row.sparse, row.dense, row.stored) for row in rows}

    def find(self, condition: Condition, most: int) -> list[int]:
        return [number for number in reversed(self.rows) if _meets(self.rows[number], condition)][
            : min(most, self.most)
        ]

    def count(self, condition: Condition = EVERYTHING) -> int:
        return sum(_meets(row, condition) for row in self.rows.values())

    def _best(self, query: SparseVector, k: int, condition: Condition) -> Scored:
        weights = dict(zip(query.dimensions.tolist(), query.weights.tolist(), strict=True))
        found = [
            (
                row.number,
                sum(weights.get(dimension, 0.0) * weight for dimension, weight in zip(*row.sparse, strict=True)),
            )
            for row in self.rows.values()
            if _meets(row, condition)
        ]
        return sorted((hit for hit in found if hit[1] > 0), key=lambda hit: -hit[1])[:k]


def _meets(row: Row, condition: Condition) -> bool:
    match condition:
        case Has("keys" | "terms" as field, values):
            return not set(values).isdisjoint(getattr(row, field))
        case Has(field, values):
            return getattr(row, field) in values
        case Between(field, first, last):
            value = getattr(row, field)
            return value is not None and first <= value <= last
        case Every(conditions):
            return all(_meets(row, each) for each in conditions)
        case Some(conditions):
            return any(_meets(row, each) for each in conditions)
        case Without(inner):
            return not _meets(row, inner)


TRUTH = MemoryEngine(RECORDS, Bm25())


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> DistributedSearcher:
    """Return a searcher that begins with as few candidates as hits. Its database gives few documents at once."""
    most: int = getattr(request, "param", 60)
    monkeypatch.setattr(module, "MOST_HITS", most)
    for name in ("_EXTRA_CANDIDATES", "_EXTRA_NEIGHBOURS"):
        monkeypatch.setattr(module, name, 0)
    monkeypatch.setattr(module, "_DEPTH_FACTOR", 2)
    monkeypatch.setattr(module, "_BATCH", min(most, 7))
    write_vocabulary(tmp_path / "vocabulary", "test", len(RECORDS), sorted(WORDS), TRUTH, Bm25())
    vocabulary, collection = Vocabulary(tmp_path / "vocabulary"), _Collection(most)
    documents: Any = _Documents()
    copy_documents(documents, vocabulary, _as_any(collection), VECTORS)
    return DistributedSearcher(_as_any(None), _as_any(collection), vocabulary)


def _as_any(value: object) -> Any:  # noqa: ANN401 - objects that have only the methods that are called
    return value


def _trees(chance: random.Random, count: int) -> list[Query]:
    def tree(depth: int) -> Query:
        kind = chance.randrange(7) if depth else 0
        parts = [tree(depth - 1) for _ in range(chance.randrange(1, 4))] if kind else []
        match kind:
            case 0 | 1:
                return Term(chance.choice([*WORDS, "missing"]))
            case 2:
                return And(tuple(parts))
            case 3:
                return Not(parts[0], parts[-1])
            case 4:
                return DisjunctionMax(tuple(parts))
            case 5:
                return Boost(parts[0], 0.5)
        return Or(tuple(parts))

    return [tree(3) for _ in range(count)]


def _check(found: Sequence[Hit], wanted: Sequence[Hit], k: int) -> None:
    """Check hits against all hits by the definition, up to the rounding of single precision."""
    scores = {hit.docid: hit.score for hit in wanted}
    assert [hit.score for hit in found] == pytest.approx([hit.score for hit in wanted[:k]], rel=1e-5)
    assert [hit.score for hit in found] == pytest.approx([scores[hit.docid] for hit in found], rel=1e-5)
    assert list(found) == sorted(found, key=lambda hit: (-hit.score, hit.docid))


@pytest.mark.parametrize("k", [1, 3, 10, 100])
def test_the_hits_of_any_tree_are_certain_however_few_candidates_come_first(
    opened: DistributedSearcher, k: int
) -> None:
    queries = _trees(random.Random(k), 60)
    for chosen in FILTERS:
        for found, wanted in zip(opened.search(queries, k, chosen), TRUTH.search(queries, 100, chosen), strict=True):
            _check(found, wanted, k)
            tied = [hit.docid for hit in wanted if found and hit.score == dict(wanted)[found[-1].docid]]
            assert {hit.docid for hit in found}.issuperset(docid for docid in tied if docid < found[-1].docid)


def test_candidates_are_read_once_though_the_cache_holds_fewer(
    opened: DistributedSearcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opened, "_candidates", LRUCache(5))
    collection: Any = opened._collection
    reads = collection.reads
    (found,) = opened.search([Or((Term("a"), Term("b")))], 60)
    _check(found, TRUTH.search([Or((Term("a"), Term("b")))], 100)[0], 60)
    assert len(found) > 20
    assert collection.reads == reads + 1


@pytest.mark.parametrize("opened", [8], indirect=True)
def test_hits_that_the_database_cannot_make_certain_are_an_error_and_never_others(opened: DistributedSearcher) -> None:
    certain, refused = 0, set[str]()
    for query in _trees(random.Random(8), 150):
        (wanted,) = TRUTH.search([query], 100)
        try:
            (found,) = opened.search([query], 5)
        except TooManyCandidates as error:
            refused.add(str(error))
            continue
        certain += bool(found)
        _check(found, wanted, 5)
    assert certain > 40
    assert _as_any(opened)._collection.depths[:3] == [5, 8, 5]  # twice as deep, and no deeper than the database gives
    assert [message.partition(", and")[0] for message in refused] == [
        "The best records of this query cannot be determined from 8 candidates"
    ]
    assert len(opened.search([any_of("ab")], 8)[0]) == 8
    with pytest.raises(TooManyCandidates, match="from 8 candidates"):
        opened.search([any_of("ab")], 9)
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        opened.search([any_of("ab")], 0)


@pytest.mark.parametrize("opened", [14, 60], indirect=True)  # 60 numbers are divided into ranges of 15
def test_records_are_counted_and_listed_though_the_database_gives_few_at_once(opened: DistributedSearcher) -> None:
    queries: list[Query] = [any_of("ab"), Not(Term("c"), Term("a"))]
    for chosen in FILTERS:
        passing = [number for number, each in enumerate(RECORDS) if chosen.passes(each.record)]
        assert opened.passing(chosen).tolist() == passing
        assert opened.count_facets(queries, chosen) == TRUTH.count_facets(queries, chosen)
    assert opened.count_facets([Term("missing")], EVERY_RECORD) == NO_FACETS
    assert opened.count_hits([any_of("ab"), Term("missing")], 7) == [7, 0]
    assert opened.count_hits([any_of("ab")], 100) == TRUTH.count_hits([any_of("ab")], 100)


@pytest.mark.parametrize("opened", [8, 60], indirect=True)
def test_the_first_documents_with_a_term_are_those_of_the_lowest_numbers(opened: DistributedSearcher) -> None:
    limit: int = vars(module)["MOST_HITS"] // 2  # as the fixture has set it
    for term in (*WORDS, "missing"):
        for most in (1, 3, 100):
            assert opened.frequencies(term, most) == TRUTH.frequencies(term, min(most, limit))


def test_records_are_found_by_their_docids_and_samples_are_spread(opened: DistributedSearcher) -> None:
    docids = [each.record.docid for each in RECORDS]
    assert opened.numbers(["nothing", *docids]) == [None, *range(60)]
    assert opened.fetch(["d37", "nothing", "d00"]) == [RECORDS[1], None, RECORDS[0]]
    assert opened.docids([59, 0, 59]) == [docids[59], docids[0], docids[59]]
    assert opened.sample(3) == [RECORDS[0], RECORDS[20], RECORDS[40]]
    assert len(opened.sample(100)) == opened.count() == 60


def test_neighbours_have_the_largest_cosines_above_zero_and_pass_the_filter(
    opened: DistributedSearcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = np.array([[0.5, -0.5, 0.5, 0.5]], dtype=np.float32)
    exact = [round(float(vector.astype(float) @ question[0]), 6) for vector in VECTORS]
    for chosen in FILTERS:
        wanted = sorted(
            (-cosine, each.record.docid)
            for cosine, each in zip(exact, RECORDS, strict=True)
            if cosine > 0 and chosen.passes(each.record)
        )
        assert 0 < len(wanted) < 60 or not wanted
        for k in (5, 60):
            assert opened.nearest(question, k, chosen) == [Hit(docid, -cosine) for cosine, docid in wanted[:k]]
    assert opened.cosines(question, ["d37", "nothing", "d00"]) == [exact[1], 0.0, exact[0]]
    assert opened.mean([0, 1, 2]).tolist() == VECTORS[:3].astype(float).mean(axis=0).astype(np.float32).tolist()
    monkeypatch.setattr(_as_any(opened)._collection, "search_dense", lambda *_: pytest.fail("zeros were searched for"))
    assert opened.nearest(np.zeros((1, 4), dtype=np.float32), 5, EVERY_RECORD) == []


def test_a_document_that_the_database_has_lost_is_damage(opened: DistributedSearcher) -> None:
    del _as_any(opened)._collection.rows[20]
    with pytest.raises(IndexDamaged, match="has lost 1 records"):
        opened.sample(3)
    with pytest.raises(IndexDamaged, match="has lost 1 records"):
        opened.docids([19, 20])
