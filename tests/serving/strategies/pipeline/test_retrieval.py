"""The lists of a pipeline: searching by words and by vectors, in one paper or in all, and fusing."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from shrag.corpora.records import Record
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.query import Query
from shrag.indexing.search_engine import Hit
from shrag.serving.events import ScoredDoc
from shrag.serving.strategies.pipeline.paper_scope import PaperScope
from shrag.serving.strategies.pipeline.query_expansion import ExpandedQuery
from shrag.serving.strategies.pipeline.retrieval import (
    QueryHits,
    describe_order,
    fuse_lists,
    hits_event,
    search_vectors,
    search_words,
)


class _Index:
    """An index whose records are letters: every query finds ``found``, and capital letters have no abstract."""

    def __init__(self, found: str = "") -> None:
        self.found = found
        self.depths: list[int] = []
        self.fetched: list[str] = []
        self.store = self.searcher = self

    def search(self, queries: Sequence[Query], k: int) -> list[list[Hit]]:
        self.depths.append(k)
        return [[Hit(docid, 9.0 - place) for place, docid in enumerate(self.found[:k])] for _ in queries]

    def fetch(self, docids: Sequence[str]) -> list[AnalyzedRecord | None]:
        self.fetched += docids
        return [None if docid == "?" else _record(docid) for docid in docids]


class _Dense:
    """Vectors: the cosine of a letter is its place in ``order`` from the end, in tenths."""

    encoder = SimpleNamespace(name="tiny", is_model=True)

    def __init__(self, order: str) -> None:
        self.order = order
        self.depths: list[int] = []

    def encode(self, text: str) -> str:
        return text

    def cosines(self, _: str, docids: Sequence[str]) -> list[float]:
        return [(len(self.order) - self.order.index(docid)) / 10 for docid in docids]

    def search(self, _: str, k: int) -> list[Hit]:
        self.depths.append(k)
        return [Hit(*pair) for pair in zip(self.order[:k], self.cosines("", self.order[:k]), strict=True)]


def _record(docid: str) -> AnalyzedRecord:
    record = Record(docid, "T", "" if docid.isupper() else "It.", "en", complete=not docid.isupper())
    return AnalyzedRecord(record, "", ())


def _query(text: str, *terms: str) -> ExpandedQuery:
    return ExpandedQuery(text, terms, terms)


def _list(found: str, *, by_vectors: bool = False) -> QueryHits:
    hits = [Hit(docid, 9.0 - place) for place, docid in enumerate(found)]
    return QueryHits(_query("q", "q"), hits, by_vectors)


def _letters(hits: Sequence[Any]) -> str:
    return "".join(hit.docid for hit in hits)


def _fused(lists: Sequence[QueryHits], most: int) -> tuple[list[tuple[str, int]], str]:
    index: Any = _Index()
    fused = fuse_lists(lists, most, index)
    return [(each.record.record.docid, each.candidate_rank) for each in fused.candidates], "".join(fused.incomplete)


@pytest.mark.parametrize(
    ("lists", "most", "candidates", "incomplete"),
    [
        (["abc"], 3, [("a", 1), ("b", 2), ("c", 3)], ""),
        (["abc"], 2, [("a", 1), ("b", 2)], ""),
        # What has no abstract, or is gone, takes no place; what comes behind the last place is not read.
        (["aXbYc?"], 2, [("a", 1), ("b", 2)], "X"),
        (["aXbYc?d"], 3, [("a", 1), ("b", 2), ("c", 3)], "XY"),
        (["aXbYc?d"], 9, [("a", 1), ("b", 2), ("c", 3), ("d", 4)], "XY?"),
        ([], 5, [], ""),
        ([""], 5, [], ""),
        # 1/62 + 1/61 for b is most, then a and c with 1/61 and 1/62, d with 1/63.
        (["abd", "bc"], 4, [("b", 1), ("a", 2), ("c", 3), ("d", 4)], ""),
        (["abd", "bc"], 2, [("b", 1), ("a", 2)], ""),
    ],
)
def test_the_fused_list_has_the_best_complete_records_numbered_anew(
    lists: list[str], most: int, candidates: list[tuple[str, int]], incomplete: str
) -> None:
    assert _fused([_list(each) for each in lists], most) == (candidates, incomplete)


def test_one_list_keeps_its_scores_and_several_have_sums_of_reciprocal_ranks() -> None:
    index: Any = _Index()
    (only,) = fuse_lists([_list("a")], 5, index).candidates
    assert only.score == 9.0
    fused = fuse_lists([_list("ab"), _list("b")], 5, index).candidates
    assert [each.score for each in fused] == pytest.approx([1 / 62 + 1 / 61, 1 / 61])


def test_words_are_searched_for_as_deep_as_asked_and_a_query_without_terms_is_not() -> None:
    index: Any = _Index("abcde")
    lists = search_words([_query("one", "one"), _query("!"), _query("two", "two")], 3, index)
    assert [(each.query.text, _letters(each.hits), each.by_vectors) for each in lists] == [
        ("one", "abc", False),
        ("two", "abc", False),
    ]
    assert index.depths == [3]
    assert search_words([_query("!")], 3, index) == []
    assert index.depths == [3]


@pytest.mark.parametrize(
    ("paper", "depth", "found", "depths"),
    [
        ("bd", 2, "bd", [1_000]),
        ("bd", 1, "b", [1_000]),
        ("bd", 3, "bda", [1_000, 5]),  # one chunk of the paper is found too few: others follow
        ("bd", 4, "bdac", [1_000, 6]),
        ("xyz", 2, "", [1_000]),
        ("x", 2, "ab", [1_000, 3]),
    ],
)
def test_chunks_of_the_paper_come_first_and_others_follow_only_where_it_has_too_few(
    paper: str, depth: int, found: str, depths: list[int]
) -> None:
    index: Any = _Index("abcde")
    (one,) = search_words([_query("one", "one")], depth, index, PaperScope(frozenset(paper), ("t",)))
    assert (_letters(one.hits), index.depths) == (found, depths)


@pytest.mark.parametrize(
    ("paper", "depth", "found", "depths"),
    [("", 2, "ed", [2]), ("ab", 1, "b", []), ("ab", 2, "ba", []), ("ab", 4, "baed", [6])],
)
def test_vectors_of_the_paper_come_first_by_their_cosines(
    paper: str, depth: int, found: str, depths: list[int]
) -> None:
    dense: Any = _Dense("edcba")
    scope = PaperScope(frozenset(paper), ("t",)) if paper else None
    (one,) = search_vectors([_query("one")], depth, dense, scope)
    assert (_letters(one.hits), dense.depths, one.by_vectors) == (found, depths, True)


def test_the_order_is_named_after_what_made_it() -> None:
    dense: Any = _Dense("a")
    words, vectors = _list("a"), _list("a", by_vectors=True)
    assert describe_order([words], None) == describe_order([words], dense) == describe_order([], dense) == "BM25"
    assert describe_order([vectors], dense) == "tiny cosine"
    assert describe_order([words, vectors], dense) == "reciprocal rank fusion of 2 lists"


def test_the_event_of_the_hits_has_every_list_and_the_first_of_the_vectors() -> None:
    index: Any = _Index()
    dense: Any = _Dense("a")
    lists = [_list("aX"), _list("b", by_vectors=True), _list("c", by_vectors=True)]
    event = hits_event(lists, fuse_lists(lists, 9, index), dense, 7)
    assert ["".join(hit.docid for hit in each) for each in event.hits] == ["aX", "b", "c"]
    assert (event.candidates, event.incomplete) == (("a", "b", "c"), ("X",))
    assert event.dense == (ScoredDoc("b", 9.0),)
    assert (event.encoder, event.encoder_is_model, event.depth) == ("tiny", True, 7)
    assert hits_event([_list("a")], fuse_lists([_list("a")], 9, index), None, 7).dense == ()
