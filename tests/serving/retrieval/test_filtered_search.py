"""A filter finds the same records as filtering by hand, in every strategy; counts over all hits."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from shrag.corpora.records import Record
from shrag.indexing.record_filter import RecordFilter, count_records
from shrag.serving.engine import Engine
from shrag.serving.events import Facets, Ranking, Timings
from shrag.serving.results import SearchResult
from shrag.serving.retrieval.ranking import reciprocal_rank_fusion
from shrag.serving.search_settings import SearchSettings
from shrag.serving.strategies.registry import STRATEGIES

QUESTIONS = ("그래핀 필름은 전자파를 얼마나 차단하는가?", "How does machine learning predict onion prices?")
HALF = RecordFilter(language=("ko",))
TENTH = RecordFilter(year_to=2018)
ONE = RecordFilter(author=("방소율",))
NOBODY = RecordFilter(author=("방소",))
FILTERS = pytest.mark.parametrize("record_filter", [HALF, TENTH, ONE, NOBODY], ids=["half", "tenth", "one", "nobody"])
EVERYTHING = SearchSettings(depth=1_000)
"""More hits of each query than the demonstration has records."""


@pytest.fixture(scope="module")
def records(demo: Engine) -> dict[str, Record]:
    """Return every record of the index by its docid."""
    found = {each.record.docid: each.record for each in demo.open_index.store.sample(1_000)}
    assert len(found) == demo.manifest.records
    return found


def _passing(records: Mapping[str, Record], record_filter: RecordFilter) -> set[str]:
    return {docid for docid, record in records.items() if record_filter.passes(record)}


def _scores(result: SearchResult) -> list[tuple[str, float]]:
    return [(ranked.record.docid, ranked.score) for ranked in result.ranking.records]


def test_the_filters_of_these_tests_pass_half_a_tenth_one_and_none(records: dict[str, Record]) -> None:
    passing = [len(_passing(records, each)) for each in (HALF, TENTH, ONE, NOBODY)]
    assert (len(records), passing) == (235, [138, 27, 2, 0])


@FILTERS
@pytest.mark.parametrize("question", QUESTIONS)
def test_bm25_ranks_as_without_a_filter_with_the_others_taken_out(
    demo: Engine, records: dict[str, Record], question: str, record_filter: RecordFilter
) -> None:
    passing = _passing(records, record_filter)
    everything = demo.search(question, k=1_000, strategy="bm25", every_record=True)
    by_hand = [pair for pair in _scores(everything) if pair[0] in passing]
    for k in (1, 10, 1_000):
        found = demo.search(question, k=k, strategy="bm25", every_record=True, record_filter=record_filter)
        assert _scores(found) == by_hand[:k]


@FILTERS
@pytest.mark.parametrize("question", QUESTIONS)
def test_each_query_of_the_default_strategy_finds_its_best_passing_records(
    demo: Engine, records: dict[str, Record], question: str, record_filter: RecordFilter
) -> None:
    passing = _passing(records, record_filter)
    everything = demo.search(question, k=1_000, every_record=True, settings=EVERYTHING)
    scores = dict(_scores(everything))
    found = demo.search(
        question, k=1_000, every_record=True, record_filter=record_filter, settings=SearchSettings(depth=10)
    )
    assert found.queries == everything.queries
    by_hand = [[hit for hit in hits if hit.docid in passing][:10] for hits in everything.hits.hits]
    assert [list(hits) for hits in found.hits.hits] == by_hand
    candidates = dict.fromkeys(hit.docid for hits in by_hand for hit in hits)
    assert list(found.hits.candidates) == list(candidates)
    # The re-ranker scores each record by itself: the ranking is that without a filter, of these candidates.
    assert _scores(found) == [(docid, score) for docid, score in scores.items() if docid in candidates]


@FILTERS
def test_hybrid_fuses_the_best_passing_records_by_words_and_by_vectors(
    demo: Engine, records: dict[str, Record], record_filter: RecordFilter
) -> None:
    passing = _passing(records, record_filter)
    everything = demo.search(QUESTIONS[0], k=1_000, strategy="hybrid", settings=EVERYTHING).hits
    found = demo.search(
        QUESTIONS[0], strategy="hybrid", record_filter=record_filter, settings=SearchSettings(depth=10)
    ).hits
    dense = [hit for hit in everything.dense if hit.docid in passing][:10]
    words = [[hit for hit in hits if hit.docid in passing][:10] for hits in everything.hits]
    assert [list(hits) for hits in found.hits] == words
    assert list(found.dense) == dense
    if dense:
        lists = [[hit.docid for hits in words for hit in hits], [hit.docid for hit in dense]]
        fused = [docid for docid, _ in reciprocal_rank_fusion(lists)]
        assert list(found.candidates) == fused


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_finds_passing_records_alone(demo: Engine, records: dict[str, Record], strategy: str) -> None:
    if demo.lacking[strategy] is not None:
        pytest.skip(f"it needs a {demo.lacking[strategy]}")
    passing = _passing(records, HALF)
    question = "그래핀 필름의 차폐 효율과 양파 가격 예측의 오차를 비교하라."
    result = demo.ask(question, strategy=strategy, record_filter=HALF, facets=True)
    hits = {hit.docid for hits in (*result.search.hits.hits, result.search.hits.dense) for hit in hits}
    shown = {ranked.record.docid for ranked in result.search.ranking.records}
    nodes = {docid for node in result.search.nodes for docid in node.docids}
    cited = {citation.docid for citation in result.answer.citations}
    assert hits
    assert hits | shown | nodes | cited <= passing
    assert result.search.record_filter == HALF
    assert result.search.facets is not None
    assert result.search.facets.total >= len(shown)


def test_the_confidence_is_that_of_the_best_passing_record(demo: Engine) -> None:
    question = "LSTM으로 양파 도매가격을 예측하면 ARIMA보다 오차가 얼마나 줄어드는가?"
    best = demo.search(question).ranking
    assert best.confidence is not None
    assert best.confidence.level != "low"
    without = RecordFilter(language=("ko",))
    assert not without.passes(best.records[0].record)
    others = demo.ask(question, record_filter=without)
    assert others.search.ranking.confidence is not None
    assert others.search.ranking.confidence.value < best.confidence.value


@FILTERS
@pytest.mark.parametrize("question", QUESTIONS)
def test_facets_count_every_record_that_matches_a_query_and_passes(
    demo: Engine, records: dict[str, Record], question: str, record_filter: RecordFilter
) -> None:
    everything = demo.search(question, k=1_000, settings=EVERYTHING)
    matching = {hit.docid for hits in everything.hits.hits for hit in hits}
    counts = demo.search(question, k=1, record_filter=record_filter, facets=True).facets
    assert counts == count_records([records[docid] for docid in matching], record_filter)


def test_facets_come_behind_the_ranking_where_they_are_asked_for(demo: Engine) -> None:
    assert demo.search(QUESTIONS[0]).facets is None
    events = list(demo.events(QUESTIONS[0], facets=True))
    kinds = [type(event) for event in events]
    assert kinds.index(Facets) == kinds.index(Ranking) + 1
    assert isinstance(events[-1], Timings)
    assert list(events[-1].seconds)[-1] == "facets"
