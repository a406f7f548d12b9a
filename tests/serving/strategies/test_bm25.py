from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.query import Query
from shrag.indexing.record_filter import EVERY_RECORD, RecordFilter
from shrag.indexing.search_engine import Hit
from shrag.serving.engine import Engine

QUESTION = "재택근무를 많이 할수록 갈등이 커지는가?"
TWICE = {"DEMO-SOC-004", "DEMO-SOC-012"}
"""Two records of one paper, the first two for the question."""


def test_records_are_ranked_by_the_scores_of_one_query_of_the_questions_words(demo: Engine) -> None:
    found = demo.search("How do salt marshes zzzzq store carbon?", k=5, strategy="bm25", every_record=True)
    assert found.queries.queries == (tuple(keyword.text for keyword in found.keywords.keywords),)
    assert {"salt", "marshes", "carbon"} <= set(found.queries.queries[0])
    assert found.keywords.unknown == ("zzzzq",)
    (hits,) = found.hits.hits
    assert [(each.record.docid, each.score) for each in found] == [(hit.docid, hit.score) for hit in hits]
    assert [each.candidate_rank for each in found] == [each.rank for each in found] == [1, 2, 3, 4, 5]
    assert sorted((hit.score for hit in hits), reverse=True) == [hit.score for hit in hits]
    ranking = found.ranking
    assert (ranking.reranker, ranking.reranker_is_model, ranking.confidence, ranking.reason) == (
        "BM25",
        False,
        None,
        "",
    )


def test_it_searches_deeper_by_as_many_as_the_duplicates_of_a_paper_left_out(demo: Engine) -> None:
    every = demo.search(QUESTION, k=2, strategy="bm25", every_record=True)
    assert ({each.record.docid for each in every}, every.hits.depth) == (TWICE, 2)
    once = demo.search(QUESTION, k=2, strategy="bm25")
    assert (len(once), once.hits.depth) == (2, 3)
    assert {once[0].record.docid, *once[0].duplicates} == TWICE
    second = demo.search(QUESTION, k=1, offset=1, strategy="bm25")
    assert [each.record.docid for each in second] == [once[1].record.docid]


def test_there_may_be_more_until_a_search_finds_fewer_than_it_asked_for(demo: Engine) -> None:
    whole = demo.search("marshes", k=100, strategy="bm25", every_record=True)
    count = len(whole)
    assert 1 < count < 100
    more = {
        k: demo.search("marshes", k=k, strategy="bm25", every_record=True).ranking.more for k in range(1, count + 2)
    }
    assert more == {k: k <= count for k in range(1, count + 2)}


def test_nothing_found_has_its_reason(demo: Engine) -> None:
    def reason(question: str, record_filter: RecordFilter | None = None) -> str:
        return demo.search(question, strategy="bm25", record_filter=record_filter or RecordFilter()).ranking.reason

    assert reason("zzzzq") == "unknown_words"
    assert reason("???") == "no_keywords"
    assert demo.search("???", strategy="bm25").queries.queries == ()
    assert reason("marshes", RecordFilter(year_to=1900)) == "filtered_out"
    assert reason("marshes") == ""


class _OnePaper:
    """An index whose records are all of one paper, and which counts its searches."""

    def __init__(self, engine: Engine) -> None:
        self._searcher, self._store = engine.open_index.searcher, engine.open_index.store
        self.statistics, self.sample = self._searcher.statistics, self._store.sample
        self.depths: list[int] = []

    def search(self, queries: Sequence[Query], k: int, _: RecordFilter = EVERY_RECORD) -> list[list[Hit]]:
        self.depths.append(k)
        return self._searcher.search(queries, k)

    def fetch(self, docids: Sequence[str]) -> list[AnalyzedRecord | None]:
        found = (each for each in self._store.fetch(docids) if each is not None)
        return [msgspec.structs.replace(each, record=replace(each.record, duplicate_of="first")) for each in found]


def test_a_paper_with_very_many_duplicates_takes_few_searches(demo: Engine) -> None:
    index = _OnePaper(demo)
    engine = Engine(replace(demo.open_index, searcher=index, store=index))  # type: ignore[arg-type]
    found = engine.search("연구 결과 effect of study results", k=3, strategy="bm25")
    assert len(found) == 1
    assert len(found[0].duplicates) > 50
    assert index.depths[:4] == [3, 5, 9, 17]
    assert len(index.depths) < 8
