"""Contract of search engines and record stores. Add an engine to ``ENGINES`` to check it.

The memory engine says what the tree and the formula mean in a few lines of Python; Lucene is held to it (F2, F4).
"""

from __future__ import annotations

import random
import subprocess
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shrag.corpora.formats.topics import read_topics
from shrag.corpora.ingest.add import add_corpus
from shrag.corpora.records import Record
from shrag.corpora.store.open_corpus import open_corpus
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analyzed_record import AnalyzedRecord, RecordStore, analyze_record, pack_record
from shrag.indexing.bm25 import Bm25
from shrag.indexing.distributed.collection import VectorDatabase
from shrag.indexing.distributed.load import copy_documents
from shrag.indexing.distributed.milvus import MilvusDatabase
from shrag.indexing.distributed.qdrant import MEMORY, QdrantDatabase
from shrag.indexing.distributed.qdrant_edge import EdgeDatabase
from shrag.indexing.distributed.searcher import DistributedSearcher
from shrag.indexing.distributed.vocabulary import Vocabulary, write_vocabulary
from shrag.indexing.lexical.pyserini_searcher import PyseriniSearcher
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.lexical.writer import LuceneIndexWriter
from shrag.indexing.query import And, Boost, DisjunctionMax, Not, Or, Query, Term, any_of
from shrag.indexing.record_filter import (
    EVERY_RECORD,
    VALUE_FIELDS,
    FacetCounts,
    RecordFilter,
    count_records,
    value_key,
)
from shrag.indexing.search_engine import FieldStatistics, Hit, SearchEngine, Statistics
from shrag.serving.engine import Engine
from tests.indexing.bm25_score import bm25_score

pytestmark = pytest.mark.slow

DEMO = Path(__file__).resolve().parents[2] / "corpora" / "demo"


class EngineAndStore(SearchEngine, RecordStore, Protocol):
    """The two seams that one index stands behind."""


class MemoryEngine:
    """Implements both seams over a list of records, by the definitions and nothing else."""

    def __init__(self, records: Sequence[AnalyzedRecord], parameters: Bm25) -> None:
        self._records = {found.record.docid: found for found in records}
        self._parameters = parameters

    def search(self, queries: Sequence[Query], k: int, record_filter: RecordFilter = EVERY_RECORD) -> list[list[Hit]]:
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}.")
        passing = {docid for docid, found in self._records.items() if record_filter.passes(found.record)}
        return [
            sorted(
                (Hit(docid, score) for docid, score in self._score(query).items() if docid in passing),
                key=lambda hit: (-hit.score, hit.docid),
            )[:k]
            for query in queries
        ]

    def count_hits(self, queries: Sequence[Query], most: int) -> list[int]:
        return [min(most, len(self._score(query))) for query in queries]

    def count_facets(self, queries: Sequence[Query], record_filter: RecordFilter) -> FacetCounts:
        found = {docid for query in queries for docid in self._score(query)}
        return count_records((self._records[docid].record for docid in found), record_filter)

    def statistics(self, terms: Sequence[str]) -> Statistics:
        contents = [found.contents_terms for found in self._records.values()]
        titles = [found.title_terms for found in self._records.values()]
        return Statistics(_field(contents, terms), _field(titles, terms))

    def frequencies(self, term: str, most: int) -> list[int]:
        counts = (found.contents_terms.count(term) for found in self._records.values())
        return [count for count in counts if count][:most]

    def fetch(self, docids: Sequence[str]) -> list[AnalyzedRecord | None]:
        return [self._records.get(docid) for docid in docids]

    def sample(self, most: int) -> list[AnalyzedRecord]:
        return list(self._records.values())[:most]

    def _score(self, query: Query) -> dict[str, float]:
        match query:
            case Term(term):
                return self._score_term(term)
            case Or(clauses):
                sums: Counter[str] = Counter()
                for clause in clauses:
                    sums.update(self._score(clause))
                return dict(sums)
            case And(clauses):
                parts = [self._score(clause) for clause in clauses]
                every = set.intersection(*map(set, parts)) if parts else set()
                return {docid: sum(part[docid] for part in parts) for docid in every}
            case Not(wanted, unwanted):
                without = self._score(unwanted)
                return {docid: score for docid, score in self._score(wanted).items() if docid not in without}
            case DisjunctionMax(clauses):
                best: dict[str, float] = {}
                for clause in clauses:
                    for docid, score in self._score(clause).items():
                        best[docid] = max(score, best.get(docid, 0.0))
                return best
            case Boost(inner, weight):
                return {docid: score * weight for docid, score in self._score(inner).items()}

    def _score_term(self, term: str) -> dict[str, float]:
        statistics, query = self.statistics([term]), {term: 1}
        return {
            docid: bm25_score(query, found.contents_terms, statistics.contents, self._parameters)
            + self._parameters.title_boost * bm25_score(query, found.title_terms, statistics.title, self._parameters)
            for docid, found in self._records.items()
            if term in found.contents_terms
        }


def _field(texts: Sequence[Sequence[str]], terms: Sequence[str]) -> FieldStatistics:
    there = [text for text in texts if text]
    length = sum(map(len, there)) / len(there) if there else 0.0
    return FieldStatistics(len(there), length, {term: sum(term in text for text in there) for term in terms})


def _lucene(records: Sequence[AnalyzedRecord], parameters: Bm25, folder: Path) -> LuceneSearcher:
    with LuceneIndexWriter(folder, parameters) as writer:
        for record in records:
            writer.add([pack_record(record)])
        writer.commit({})
    return LuceneSearcher(folder, parameters)


_WRITE = """
import sys, msgspec; from pathlib import Path
from shrag.indexing.analyzed_record import AnalyzedRecord, pack_record
from shrag.indexing.bm25 import Bm25
from shrag.indexing.lexical.writer import LuceneIndexWriter
records, parameters = msgspec.json.decode(sys.stdin.buffer.read(), type=tuple[list[AnalyzedRecord], Bm25])
with LuceneIndexWriter(Path(sys.argv[1]), parameters) as writer:
    writer.add(map(pack_record, records))
    writer.commit({})
"""


def _pyserini(records: Sequence[AnalyzedRecord], parameters: Bm25, folder: Path) -> PyseriniSearcher:
    data = msgspec.json.encode((records, parameters))
    # In another process: Pyserini cannot share the JVM that writes.
    subprocess.run([sys.executable, "-c", _WRITE, str(folder)], input=data, check=True)
    return PyseriniSearcher(folder, parameters)


def _milvus(records: Sequence[AnalyzedRecord], parameters: Bm25, folder: Path) -> DistributedSearcher:
    return _distributed(records, parameters, folder, MilvusDatabase(str(folder.parent / "lite.db")))


def _qdrant_edge(records: Sequence[AnalyzedRecord], parameters: Bm25, folder: Path) -> DistributedSearcher:
    return _distributed(records, parameters, folder, EdgeDatabase(folder.parent / "edge"))


def _qdrant_client(records: Sequence[AnalyzedRecord], parameters: Bm25, folder: Path) -> DistributedSearcher:
    return _distributed(records, parameters, folder, QdrantDatabase(MEMORY))


def _distributed(
    records: Sequence[AnalyzedRecord], parameters: Bm25, folder: Path, database: VectorDatabase
) -> DistributedSearcher:
    lucene = _lucene(records, parameters, folder)
    path = folder.parent / "vocabulary.sqlite"
    write_vocabulary(path, "test", len(records), lucene.terms(), lucene, parameters)
    vocabulary = Vocabulary(path)
    collection = database.create("test", 0)
    copy_documents(lucene, vocabulary, collection)
    collection.finish()
    assert collection.count() == len(records)
    return DistributedSearcher(database, collection, vocabulary)


Maker = Callable[[Sequence[AnalyzedRecord], Bm25, Path], EngineAndStore]

ENGINES: dict[str, Maker] = {
    "lucene": _lucene,
    "memory": lambda records, parameters, _: MemoryEngine(records, parameters),
    "milvus": _milvus,
    "qdrant": _qdrant_client,
    "qdrant-edge": _qdrant_edge,
    "pyserini": _pyserini,
}
QDRANT_CLIENT = pytest.param("qdrant", marks=pytest.mark.soak)  # its own search in Python takes half a minute
PYSERINI = pytest.param("pyserini", marks=pytest.mark.pyserini)


def _rounding(engine: SearchEngine) -> float:
    """Return the largest difference of an engine's scores from the formula's, beside that of 32-bit floats.

    Anserini rounds to four decimals and takes up to a millionth for each document that is tied.
    """
    return 1.5e-4 if isinstance(engine, PyseriniSearcher) else 1e-12


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory, analyzer: KoreanEnglishAnalyzer) -> list[AnalyzedRecord]:
    """Return the records of the demonstration, analysed, without Java."""
    corpora = tmp_path_factory.mktemp("documents") / "corpora"
    add_corpus(corpora, "demo", "scienceon", [DEMO / "records.jsonl"])
    _, records = open_corpus(corpora, "demo")
    found = [analyze_record(record, analyzer) for record in records]
    assert len(found) == 235
    return found


@pytest.fixture(scope="module", params=["lucene", "memory", "milvus", QDRANT_CLIENT, "qdrant-edge", PYSERINI])
def make(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Maker:
    """Return what makes each engine, in a folder of its own."""
    maker = ENGINES[request.param]
    return lambda records, parameters, _: maker(records, parameters, tmp_path_factory.mktemp("engine") / "index")


@pytest.fixture(scope="module")
def engine(make: Maker, documents: list[AnalyzedRecord]) -> EngineAndStore:
    """Return each engine over the demonstration's records."""
    return make(documents, Bm25(), Path())


def _small(docid: str, title: Sequence[str], text: Sequence[str]) -> AnalyzedRecord:
    record = Record(docid, " ".join(title), " ".join(text) or "-", "en", complete=True)
    return AnalyzedRecord(record, " ".join(title), (" ".join(text),) if text else ())


WORDS = "abcdef"


@pytest.fixture(scope="module", params=["lucene", "milvus", QDRANT_CLIENT, "qdrant-edge", PYSERINI])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[SearchEngine, MemoryEngine]:
    """Return an engine and the memory engine over the same 80 records of few words, many alike, some empty."""
    chance = random.Random(5)
    records = [
        _small(f"d{number:02}", chance.choices(WORDS, k=chance.randrange(3)), chance.choices(WORDS, k=number % 7))
        for number in chance.sample(range(80), 80)
    ]
    lucene = ENGINES[request.param](records, Bm25(), tmp_path_factory.mktemp("both") / "index")
    return lucene, MemoryEngine(records, Bm25())


TREES: st.SearchStrategy[Query] = st.recursive(
    st.sampled_from([*WORDS, "missing"]).map(Term),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda clauses: Or(tuple(clauses))),
        st.lists(inner, max_size=3).map(lambda clauses: And(tuple(clauses))),
        st.builds(Not, inner, inner),
        st.lists(inner, max_size=3).map(lambda clauses: DisjunctionMax(tuple(clauses))),
        st.builds(Boost, inner, st.sampled_from((0.25, 0.5, 2.0))),
    ),
    max_leaves=12,
)


def _scores(engine: SearchEngine, query: Query) -> dict[str, float]:
    return {hit.docid: hit.score for hit in engine.search([query], 100)[0]}


@given(TREES)
@settings(max_examples=200, deadline=None)
def test_any_tree_finds_and_scores_what_its_definition_says(
    both: tuple[SearchEngine, MemoryEngine], query: Query
) -> None:
    lucene, memory = both
    assert _scores(lucene, query) == {
        docid: pytest.approx(score, rel=1e-5, abs=max(_rounding(lucene), 1e-6))
        for docid, score in _scores(memory, query).items()
    }


@given(st.lists(TREES, min_size=1, max_size=4), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_alternatives_have_no_order_lose_nothing_and_hold_what_all_of_them_find(
    both: tuple[SearchEngine, MemoryEngine], clauses: list[Query], chance: random.Random
) -> None:
    lucene, _ = both
    mixed = chance.sample(clauses, len(clauses))
    found = _scores(lucene, Or(tuple(clauses)))
    assert _scores(lucene, Or(tuple(mixed))) == {
        docid: pytest.approx(score, rel=1e-5, abs=_rounding(lucene)) for docid, score in found.items()
    }
    assert _scores(lucene, Or(tuple(clauses[1:]))).keys() <= found.keys()
    every = _scores(lucene, And(tuple(clauses))).keys()
    assert every <= found.keys()
    without = _scores(lucene, Not(clauses[0], clauses[-1])).keys()
    assert without == _scores(lucene, clauses[0]).keys() - _scores(lucene, clauses[-1]).keys()


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), st.integers(1, 80))
@settings(max_examples=100, deadline=None)
def test_fewer_hits_are_the_first_of_more_though_many_are_alike(
    both: tuple[SearchEngine, MemoryEngine], terms: list[str], k: int
) -> None:
    lucene, _ = both
    (few,), (all_of_them,) = lucene.search([any_of(terms)], k), lucene.search([any_of(terms)], 80)
    assert few == all_of_them[:k]


def test_every_question_is_ranked_as_a_plain_scorer_ranks_it(
    engine: EngineAndStore, documents: list[AnalyzedRecord], analyzer: KoreanEnglishAnalyzer
) -> None:
    parameters = Bm25()
    topics = list(read_topics(DEMO / "topics.tsv"))
    assert len(topics) == 78
    for topic in topics:
        (terms,) = analyzer.terms([topic.text])
        query = Counter(terms)
        statistics = engine.statistics(list(query))
        scores = {
            document.record.docid: bm25_score(query, document.contents_terms, statistics.contents, parameters)
            + parameters.title_boost * bm25_score(query, document.title_terms, statistics.title, parameters)
            for document in documents
        }
        (hits,) = engine.search([any_of(terms)], 235)
        assert {hit.docid for hit in hits} == {docid for docid, score in scores.items() if score > 0}
        assert all(hit.score == pytest.approx(scores[hit.docid], rel=1e-5, abs=_rounding(engine)) for hit in hits)
        assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.docid))


def test_two_hundred_random_questions_have_the_same_best_hundred(
    engine: EngineAndStore, documents: list[AnalyzedRecord]
) -> None:
    """F4: scores differ by the rounding of 32-bit floats and no more, so places change only between such scores."""
    chance = random.Random(4)
    memory = MemoryEngine(documents, Bm25())
    vocabulary = sorted({term for document in documents for term in document.contents_terms})
    queries = [any_of(chance.choices(vocabulary, k=chance.randrange(1, 9))) for _ in range(200)]
    for hits, wanted in zip(engine.search(queries, 100), memory.search(queries, 100), strict=True):
        assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in wanted], abs=5e-5 + _rounding(engine))
        last = wanted[-1].score if wanted else 0.0
        certain = {hit.docid for hit in wanted if hit.score > last + 5e-5 + _rounding(engine)}
        assert certain <= {hit.docid for hit in hits}


def test_ties_are_broken_by_docid_at_the_last_place_too(make: Maker) -> None:
    alike = [_small(f"t{number}", [], ["same", "words"]) for number in (5, 3, 8, 1, 9, 2)]
    engine = make([*alike, _small("best", ["same"], ["same"])], Bm25(), Path())
    order = ["best", "t1", "t2", "t3", "t5", "t8", "t9"]
    for k in range(1, 9):
        assert [hit.docid for hit in engine.search([Term("same")], k)[0]] == order[:k]


def test_queries_of_a_batch_do_not_touch_each_other(engine: EngineAndStore) -> None:
    queries: list[Query] = [Term("그래핀"), Or(()), Term("zzz"), any_of(["carbon", "탄소"])]
    assert engine.search(queries, 5) == [engine.search([query], 5)[0] for query in queries]
    assert engine.search([], 5) == []


def test_nothing_is_found_in_nothing(make: Maker) -> None:
    empty = make([], Bm25(), Path())
    assert empty.search([Term("a"), Or(()), Not(Term("a"), Term("b"))], 3) == [[], [], []]
    assert empty.statistics(["a"]).contents == FieldStatistics(0, 0.0, {"a": 0})
    assert empty.fetch(["a"]) == [None]
    assert empty.sample(3) == []


def test_k_must_be_positive(engine: EngineAndStore) -> None:
    with pytest.raises(ValueError, match="at least 1, got 0"):
        engine.search([Term("그래핀")], 0)


def test_records_come_back_whole_in_the_order_asked_for(
    engine: EngineAndStore, documents: list[AnalyzedRecord]
) -> None:
    docids = [document.record.docid for document in documents]
    assert engine.fetch([*reversed(docids), "nothing", docids[0]]) == [*reversed(documents), None, documents[0]]


def test_statistics_count_each_field_apart(make: Maker) -> None:
    engine = make([_small("1", ["a"], ["a", "b"]), _small("2", [], ["b"]), _small("3", ["a", "b"], [])], Bm25(), Path())
    found = engine.statistics(["a", "b", "c"])
    assert found.contents == FieldStatistics(3, 2.0, {"a": 2, "b": 3, "c": 0})
    assert found.title == FieldStatistics(2, 1.5, {"a": 2, "b": 1, "c": 0})


def test_frequencies_count_a_term_in_each_document_that_has_it_up_to_a_limit(make: Maker) -> None:
    engine = make(
        [_small("1", ["a"], ["a", "b"]), _small("2", [], ["b"]), _small("3", ["a"], ["c"] * 3)], Bm25(), Path()
    )
    assert sorted(engine.frequencies("a", 10)) == [1, 2]
    assert engine.frequencies("c", 10) == [3]
    assert len(engine.frequencies("b", 1)) == 1
    assert engine.frequencies("z", 10) == []


def test_how_a_question_is_written_down_does_not_matter(demo: Engine) -> None:
    for topic in read_topics(DEMO / "topics.tsv"):
        wanted = demo.search(topic.text).ranking.records
        for written in (
            unicodedata.normalize("NFD", topic.text),
            f"  {topic.text} \t",
            topic.text.replace(" ", " \u3000 "),
        ):
            assert demo.search(written).ranking.records == wanted


def test_the_best_of_several_ways_scores_and_a_weight_multiplies(engine: EngineAndStore) -> None:
    ways = [Term("그래핀"), Term("graphen"), Term("탄소")]
    alone = [{hit.docid: hit.score for hit in hits} for hits in engine.search(ways, 235)]
    (best, weighted, nothing) = engine.search(
        [DisjunctionMax(tuple(ways)), Boost(ways[0], 0.5), DisjunctionMax(())], 235
    )
    expected = {
        docid: max(scores.get(docid, 0.0) for scores in alone) for docid in set().union(*(set(each) for each in alone))
    }
    assert {hit.docid: hit.score for hit in best} == pytest.approx(expected, rel=1e-5, abs=_rounding(engine))
    assert {hit.docid: hit.score for hit in weighted} == pytest.approx(
        {docid: score / 2 for docid, score in alone[0].items()}, rel=1e-5, abs=_rounding(engine)
    )
    assert nothing == []


JOURNALS = ("Journal of A", "journal of a", "학술지 나", "")
AUTHORS = ("김민수", "Kim, Minsu", "KIM, MINSU", "Lee", "Ñandú")


@pytest.fixture(scope="module", params=["lucene", "milvus", QDRANT_CLIENT, "qdrant-edge", PYSERINI])
def catalogued(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[SearchEngine, MemoryEngine]:
    """Return an engine and the memory engine over the same 120 records, some without year, journal, type or author."""
    chance = random.Random(7)
    records = []
    for number in range(120):
        record = Record(
            f"d{number:03}",
            chance.choice(WORDS),
            "-",
            chance.choice(("ko", "en", "und")),
            complete=True,
            journal=chance.choice(JOURNALS),
            year=chance.choice((None, 1999, 2010, 2011, 2024)),
            type=chance.choice(("", "thesis", "article-journal")),
            authors=tuple(chance.sample(AUTHORS, chance.randrange(4))),
        )
        records.append(AnalyzedRecord(record, record.title, (" ".join(chance.choices(WORDS, k=5)),)))
    lucene = ENGINES[request.param](records, Bm25(), tmp_path_factory.mktemp("catalogued") / "index")
    return lucene, MemoryEngine(records, Bm25())


YEARS = st.sampled_from((None, 0, 1999, 2010, 2011, 2012, 2024, 9999))


def _rising(years: tuple[int | None, int | None]) -> tuple[int | None, int | None]:
    first, last = years
    return (last, first) if first is not None and last is not None and first > last else years


FILTERS: st.SearchStrategy[RecordFilter] = st.builds(
    lambda years, **values: RecordFilter(*years, **values),
    st.tuples(YEARS, YEARS).map(_rising),
    language=st.lists(st.sampled_from(("ko", "en", "und")), max_size=2).map(tuple),
    journal=st.lists(st.sampled_from(("JOURNAL  of A", "학술지 나", "no such journal")), max_size=2).map(tuple),
    type=st.lists(st.sampled_from(("thesis", "Article-Journal")), max_size=2).map(tuple),
    author=st.lists(st.sampled_from(("kim, minsu", "김민수", "ÑANDÚ", "Kim")), max_size=2).map(tuple),
)


@given(TREES, FILTERS, st.integers(1, 120))
@settings(max_examples=200, deadline=None)
def test_a_filter_finds_what_is_left_of_all_hits_with_the_same_scores(
    catalogued: tuple[SearchEngine, MemoryEngine], query: Query, record_filter: RecordFilter, k: int
) -> None:
    engine, memory = catalogued
    (everything,) = engine.search([query], 120)
    found = memory.fetch([hit.docid for hit in everything])
    by_hand = [hit for hit, each in zip(everything, found, strict=True) if each and record_filter.passes(each.record)]
    (hits,) = engine.search([query], k, record_filter)
    wanted, rounding = by_hand[:k], _rounding(engine)
    if rounding < 1e-6:
        assert hits == wanted
        return
    # Where scores are rounded, ties are broken otherwise.
    scores = {hit.docid: hit.score for hit in by_hand}
    assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in wanted], rel=1e-5, abs=rounding)
    assert all(hit.score == pytest.approx(scores[hit.docid], rel=1e-5, abs=rounding) for hit in hits)


@given(st.lists(TREES, max_size=3), FILTERS)
@settings(max_examples=100, deadline=None)
def test_facets_count_the_hits_of_any_query_by_each_field(
    catalogued: tuple[SearchEngine, MemoryEngine], queries: list[Query], record_filter: RecordFilter
) -> None:
    engine, memory = catalogued
    assert _folded(engine.count_facets(queries, record_filter)) == _folded(memory.count_facets(queries, record_filter))


def _folded(counts: FacetCounts) -> dict[str, object]:
    """Return the counts by key: of two spellings of a value, any may be shown."""
    folded: dict[str, object] = {"total": counts.total, "undated": counts.undated, "year": counts.year}
    for name in VALUE_FIELDS:
        folded[name] = [(value_key(each.value), each.count) for each in counts.values(name)]
    return folded


def test_hits_are_counted_over_the_whole_index(catalogued: tuple[SearchEngine, MemoryEngine]) -> None:
    engine, memory = catalogued
    queries: list[Query] = [Term("a"), And((Term("a"), Term("b"))), Term("missing")]
    assert engine.count_hits(queries, 30) == memory.count_hits(queries, 30)
    assert engine.count_hits(queries, 30)[::2] == [30, 0]
