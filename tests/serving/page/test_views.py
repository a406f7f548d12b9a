"""The list of records with its further pages, and the trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import parse_qsl

import pytest

from shrag.corpora.records import Record
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.record_filter import NO_FACETS
from shrag.serving.events import (
    Answer,
    Citation,
    Facets,
    Hits,
    Keyword,
    Keywords,
    Queries,
    RankedRecord,
    Ranking,
    ScoredDoc,
    Timings,
)
from shrag.serving.page.request import PageRequest
from shrag.serving.page.state import PageState
from shrag.serving.page.views import records_view, trace_view

ASKED = PageRequest("graphene", "en")


def _ranked(rank: int, record: Record | None = None, duplicates: tuple[str, ...] = ()) -> RankedRecord:
    record = record or Record(f"D{rank}", "Graphene films", "Graphene is thin.", "en", complete=True)
    return RankedRecord(rank, rank, 1.0, record, duplicates)


def _state(
    first: int = 1, records: int = 10, *, total: int = 0, candidates: int = 10, more: bool = True, dense: bool = False
) -> PageState:
    """Return the state of a search that shows ``records`` records from the rank ``first``."""
    state = PageState("graphene", "en")
    state.add(Keywords((Keyword("graphene", ("graphen",), 9.0),), ()))
    nearest = (ScoredDoc("D1", 0.9),) if dense else ()
    state.add(Hits((), tuple(f"D{number}" for number in range(candidates)), (), nearest))
    shown = tuple(_ranked(rank) for rank in range(first, first + records))
    state.add(Ranking(shown, "r", reranker_is_model=False, reason="" if records else "past_end", more=more))
    if total:
        state.add(Facets(replace(NO_FACETS, total=total)))
    return state


def _offset(url: str) -> int | None:
    """Return the offset that a link has, 0 for none; None without a link."""
    return int(dict(parse_qsl(url.partition("?")[2])).get("offset", 0)) if url else None


@pytest.mark.parametrize(
    ("state", "offset", "before", "further", "last", "total", "ends"),
    [
        (_state(total=25), 0, None, 10, 10, 25, False),
        (_state(11, total=25), 10, 0, 20, 20, 25, False),
        (_state(21, 5, total=25, more=False), 20, 10, None, 25, 25, False),
        (_state(6, total=25), 5, 0, 15, 15, 25, False),
        (_state(81, total=300), 80, 70, 90, 90, 300, False),
        (_state(91, total=300), 90, 80, None, 100, 300, True),
        (_state(91, total=300, more=False), 90, 80, None, 100, 300, False),
        (_state(31, 0, total=25, more=False), 30, 0, None, 30, 25, False),
        # Nothing was counted, or vectors found records that are not counted.
        (_state(candidates=10), 0, None, None, 10, 10, False),
        (_state(candidates=11), 0, None, 10, 10, 10, False),
        (_state(candidates=10, dense=True), 0, None, 10, 10, 10, False),
        (_state(total=10), 0, None, None, 10, 10, False),
        (_state(total=11), 0, None, 10, 10, 11, False),
    ],
)
def test_the_links_lead_to_the_page_before_and_to_a_further_one_where_there_may_be_one(
    analyzer: KoreanEnglishAnalyzer,
    state: PageState,
    offset: int,
    before: int | None,
    further: int | None,
    last: int,
    total: int,
    ends: bool,
) -> None:
    view = records_view(state, replace(ASKED, offset=offset), analyzer)
    assert view is not None
    assert (_offset(view["before_url"]), _offset(view["next_url"])) == (before, further)
    assert (view["last"], view["total"], view["ends"]) == (last, total, ends)
    past_end = "There are no more results. All ranked records are on the earlier pages."
    assert view["reason"] == ("" if view["records"] else past_end)


def test_there_is_no_list_before_the_ranking_and_no_reason_on_the_first_page(analyzer: KoreanEnglishAnalyzer) -> None:
    assert records_view(PageState("graphene", "en"), ASKED, analyzer) is None
    view = records_view(_state(records=0, more=False), ASKED, analyzer)
    assert view is not None
    assert (view["reason"], view["records"], view["total"]) == ("", [], 0)


def test_a_record_of_the_list_has_its_number_its_words_and_a_few_of_its_duplicates(
    analyzer: KoreanEnglishAnalyzer,
) -> None:
    state = PageState("graphene films of the city", "en")
    words = ("graphene", "film", "city", "salt", "iron", "gold", "zinc", "lead", "tin")
    state.add(Keywords(tuple(Keyword(word, (analyzer.terms([word])[0][0],), 9.0) for word in words), ()))
    text = "Films, films and GRAPHENE of a city with salt, iron, gold, zinc, lead and tin."
    first = Record("D1", "Graphene films", text, "en", complete=True)
    long = Record("D2", "", "Graphene is thin. " + "It is not. " * 9, "en", complete=False)
    duplicates = tuple(f"X{number}" for number in range(6))
    state.add(Ranking((_ranked(1, first, duplicates), _ranked(2, long)), "r", reranker_is_model=False))
    state.add(Answer("extractive", "en", (), (Citation(3, "D1", "Graphene films"),)))
    view = records_view(state, ASKED, analyzer)
    assert view is not None
    one, two = view["records"]
    assert (one["cited"], two["cited"]) == (3, None)
    assert [docid for docid, _ in one["duplicates"]] == ["X0", "X1", "X2", "X3", "X4"]
    assert one["matched"] == ["films", "graphene", "city", "salt", "iron", "gold", "zinc", "lead"]
    assert (one["more"], two["more"]) == (False, True)
    assert "".join(segment.text for segment in two["title"]) == "D2"
    assert ("q=graphene" in one["url"], "q=graphene" in one["plain_url"]) == (True, False)


class _Store:
    """A store that has a title for ``A`` only."""

    def fetch(self, docids: Sequence[str]) -> list[AnalyzedRecord | None]:
        """Return the record of ``A``, and nothing else."""
        found = AnalyzedRecord(Record("A", "Title of A", "", "en", complete=False), "", ())
        return [found if docid == "A" else None for docid in docids]

    def sample(self, most: int) -> list[AnalyzedRecord]:
        """Return nothing."""
        return []


def _hits(*found: str) -> tuple[tuple[ScoredDoc, ...], ...]:
    return tuple(tuple(ScoredDoc(docid, 1.0) for docid in each) for each in found)


def test_a_query_counts_the_records_that_none_before_it_found_and_equal_ones_are_one() -> None:
    state = PageState("graphene", "en")
    queries = (("a", "b"), ("a",), ("b",), ("a",))
    state.add(Queries(queries))
    shown = [
        (each["keywords"], each["added"], each["length"]) for each in trace_view(state, ASKED, _Store())["queries"]
    ]
    assert shown == [(("a", "b"), None, 0.0), (("a",), None, 0.0), (("b",), None, 0.0)]
    state.add(Hits(_hits("123", "34", "12", "567"), (), ()))
    shown = [
        (each["keywords"], each["added"], each["length"]) for each in trace_view(state, ASKED, _Store())["queries"]
    ]
    assert shown == [(("a", "b"), 3, 75.0), (("a",), 4, 100.0), (("b",), 0, 0.0)]


def test_the_trace_says_which_records_were_left_out_by_their_titles_twenty_at_most() -> None:
    state = PageState("graphene", "en")
    assert trace_view(state, ASKED, _Store())["incomplete"] == []
    state.add(Hits((), (), ("A", "B", *(f"C{number}" for number in range(19)))))
    left_out = trace_view(state, ASKED, _Store())["incomplete"]
    assert [each["title"] for each in left_out] == ["Title of A", "B", *(f"C{number}" for number in range(18))]
    assert [each["url"].partition("docid=")[2].partition("&")[0] for each in left_out][:2] == ["A", "B"]


@pytest.mark.parametrize(
    ("strategy", "reduced"),
    [("shrag", True), ("hybrid", True), ("tree", True), ("bm25", False), ("pipeline-1", False), ("retrieve(5)", False)],
)
def test_queries_are_explained_as_reduced_ones_where_a_strategy_makes_such(strategy: str, reduced: bool) -> None:
    view = trace_view(PageState("graphene", "en"), replace(ASKED, strategy=strategy), _Store())
    assert view["or_queries"] == reduced
    assert (view["keywords"], view["ranking"], view["rank_changes"], view["stages"]) == (None, None, [], [])


def test_the_trace_marks_the_records_cited_and_has_the_seconds_of_each_stage() -> None:
    state = _state(records=2)
    state.add(Answer("extractive", "en", (), (Citation(1, "D2", "Graphene films"),)))
    state.add(Timings({"search": 0.5}))
    view = trace_view(state, ASKED, _Store())
    assert [each.cited for each in view["rank_changes"]] == [False, True]
    assert [(each.stage, each.milliseconds) for each in view["stages"]] == [("search", 500.0)]
