"""Writer and reader together, over real Lucene."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from shrag.corpora.records import Record
from shrag.indexing.analyzed_record import AnalyzedRecord, pack_record
from shrag.indexing.bm25 import Bm25
from shrag.indexing.errors import IndexingError
from shrag.indexing.lexical.searcher import SEPARATOR, LuceneSearcher, join_texts, write_queries
from shrag.indexing.lexical.writer import LuceneIndexWriter
from shrag.indexing.query import And, Boost, DisjunctionMax, Not, Or, Query, Term, any_of
from tests.indexing.bm25_score import bm25_score

DOCUMENTS = {
    "d1": (["graphene"], [["graphene", "film", "shield"], ["film"]]),
    "d2": (["film"], [["polymer", "film"]]),
    "d3": (["shield"], [["shield", "shield", "copper"]]),
    "d4": ([], [["copper"]]),
    "d5": (["graphene", "shield"], []),
}


def _analysed(docid: str) -> AnalyzedRecord:
    title, sentences = DOCUMENTS[docid]
    record = Record(docid, " ".join(title), "x", "en", complete=True)
    return AnalyzedRecord(record, " ".join(title), tuple(map(" ".join, sentences)))


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LuceneSearcher]:
    folder = tmp_path_factory.mktemp("lucene")
    with LuceneIndexWriter(folder, Bm25()) as writer:
        for docid in DOCUMENTS:
            writer.add([pack_record(_analysed(docid))])
        assert writer.commit({"corpus": "abc"}) == 5
    opened = LuceneSearcher(folder, Bm25())
    yield opened
    opened.close()


def _found(reader: LuceneSearcher, query: Query, k: int = 10) -> list[str]:
    return [hit.docid for hit in reader.search([query], k)[0]]


def test_scores_are_bm25_of_contents_and_title(reader: LuceneSearcher) -> None:
    query = {"graphene": 1, "film": 2, "missing": 1}
    (hits,) = reader.search([any_of(["graphene", "film", "missing", "film"])], 10)
    statistics = reader.statistics(list(query))
    parameters = Bm25()
    scores = {
        docid: bm25_score(query, _analysed(docid).contents_terms, statistics.contents, parameters)
        + parameters.title_boost * bm25_score(query, DOCUMENTS[docid][0], statistics.title, parameters)
        for docid in ("d1", "d2", "d5")
    }
    assert {hit.docid: pytest.approx(hit.score, rel=1e-6) for hit in hits} == scores
    assert [hit.docid for hit in hits] == sorted(scores, key=lambda docid: -scores[docid])


def test_the_query_tree_means_what_it_says(reader: LuceneSearcher) -> None:
    assert set(_found(reader, Term("film"))) == {"d1", "d2"}
    assert set(_found(reader, And((Term("graphene"), Term("shield"))))) == {"d1", "d5"}
    assert set(_found(reader, Not(Term("shield"), Term("graphene")))) == {"d3"}
    assert set(_found(reader, Or((And((Term("graphene"), Term("film"))), Term("copper"))))) == {"d1", "d3", "d4"}
    assert _found(reader, Or(())) == _found(reader, And(())) == _found(reader, Term("missing")) == []


def test_order_of_alternatives_does_not_matter_and_more_of_them_find_no_less(reader: LuceneSearcher) -> None:
    assert reader.search([any_of(["film", "copper"])], 10) == reader.search([any_of(["copper", "film"])], 10)
    assert set(_found(reader, any_of(["film"]))) <= set(_found(reader, any_of(["film", "polymer"])))


def test_k_bounds_the_hits_and_must_be_positive(reader: LuceneSearcher) -> None:
    query = any_of(["graphene", "film", "shield", "copper"])
    assert len(_found(reader, query, 2)) == 2
    assert len(_found(reader, query, 1_000_000)) == 5
    with pytest.raises(ValueError, match="at least 1, got 0"):
        reader.search([query], 0)


def test_a_query_of_five_thousand_terms_is_answered(reader: LuceneSearcher) -> None:
    assert _found(reader, any_of([*(f"t{n}" for n in range(5000)), "polymer"])) == ["d2"]


def test_statistics_count_documents_by_field(reader: LuceneSearcher) -> None:
    statistics = reader.statistics(["shield", "missing"])
    assert statistics.contents.documents == 5
    assert statistics.contents.average_length == pytest.approx((5 + 3 + 4 + 1 + 2) / 5)
    assert statistics.contents.document_frequencies == {"shield": 3, "missing": 0}
    assert statistics.title.documents == 4
    assert statistics.title.document_frequencies == {"shield": 2, "missing": 0}


def test_records_come_back_with_their_terms(reader: LuceneSearcher) -> None:
    assert reader.fetch(["d3", "nothing", "d1"]) == [_analysed("d3"), None, _analysed("d1")]
    assert reader.commit_data() == {"corpus": "abc"}


def test_an_index_of_nothing_finds_nothing(tmp_path: Path) -> None:
    with LuceneIndexWriter(tmp_path / "i", Bm25()) as writer:
        writer.commit({})
    empty = LuceneSearcher(tmp_path / "i", Bm25())
    assert empty.search([Term("a")], 3) == [[]]
    assert empty.statistics(["a"]).contents.document_frequencies == {"a": 0}
    assert empty.fetch(["a"]) == [None]
    empty.close()


def test_a_failed_build_leaves_nothing_that_opens(tmp_path: Path) -> None:
    def build() -> None:
        with LuceneIndexWriter(tmp_path / "i", Bm25()) as writer:
            writer.add([pack_record(_analysed("d1"))])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        build()
    with pytest.raises(IndexingError, match="Lucene failed while reading"):
        LuceneSearcher(tmp_path / "i", Bm25())


def test_a_writer_goes_on_behind_the_last_commit_and_leaves_one_segment(tmp_path: Path) -> None:
    for docid in ("d1", "d2"):
        with LuceneIndexWriter(tmp_path, Bm25()) as writer:
            writer.add([pack_record(_analysed(docid))])
            writer.checkpoint({"done": docid})
    with LuceneIndexWriter(tmp_path, Bm25()) as writer:
        assert (writer.count(), writer.commit_data()) == (2, {"done": "d2"})
        writer.add([pack_record(_analysed("d3"))])
        assert writer.commit({"done": "all"}) == 3
    assert len(list(tmp_path.glob("*.si"))) == 1
    opened = LuceneSearcher(tmp_path, Bm25())
    assert set(_found(opened, Term("film"))) == {"d1", "d2"}
    opened.close()


def test_threads_that_search_at_once_get_their_own_answers(reader: LuceneSearcher) -> None:
    queries: list[Query] = [Term("film"), Term("shield"), Term("copper"), any_of(["graphene", "polymer"])]
    alone = [reader.search([query], 10)[0] for query in queries]
    wrong: list[object] = []

    def ask(place: int) -> None:
        for _ in range(200):
            (hits,) = reader.search([queries[place]], 10)
            if hits != alone[place] or any(found is None for found in reader.fetch([hit.docid for hit in hits])):
                wrong.append(hits)

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(len(queries))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_term_is_never_read_as_a_query(reader: LuceneSearcher) -> None:
    for hostile in ("film\0tcopper", "\0", "", "o2", "w0.5", "🧪", "a" * 40_000):
        assert _found(reader, Term(hostile)) == []
        assert reader.statistics([hostile]).contents.document_frequencies == {hostile: 0}


def test_queries_asked_at_once_are_answered_as_each_alone(reader: LuceneSearcher) -> None:
    queries: list[Query] = [*(any_of(["film", "copper"][:size]) for size in (2, 1, 0)), Term("shield")]
    assert reader.search(queries, 10) == [reader.search([query], 10)[0] for query in queries]
    assert reader.search([], 10) == []


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        (Term("film"), ["tfilm"]),
        (any_of(["그래핀", "film"]), ["o2", "t그래핀", "tfilm"]),
        (Or(()), ["o0"]),
        (And((Term("a"), Or((And(()), Term("b"))))), ["a2", "ta", "o2", "a0", "tb"]),
        (Not(Term("a"), any_of(["b"])), ["n", "ta", "o1", "tb"]),
        (DisjunctionMax((any_of(["a"]), Boost(any_of(["b"]), 0.1))), ["b2", "o1", "ta", "w0.1", "o1", "tb"]),
    ],
)
def test_a_tree_is_written_node_by_node_with_its_clauses_behind_it(query: Query, parts: list[str]) -> None:
    assert write_queries([query]) == "\0".join(parts)


def test_queries_stand_one_after_another() -> None:
    assert write_queries([any_of(["a", "b"]), Term("")]) == "o2\0ta\0tb\0t"


def test_what_separates_cannot_be_written_into_a_term() -> None:
    assert write_queries([Term("a\0tb"), any_of(["\0"])]) == "ta\ufffdtb\0o1\0t\ufffd"
    assert join_texts(["a\0b", "", "c"]).split(SEPARATOR) == ["a\ufffdb", "", "c"]
