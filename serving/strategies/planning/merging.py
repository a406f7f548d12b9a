"""Merge sub-question rankings into one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shrag.indexing.analyzed_record import AnalysedRecord
from shrag.serving.events import Event, Hits, Keyword, Keywords, Queries, RankedRecord, Ranking
from shrag.serving.retrieval.query_terms import Word
from shrag.serving.retrieval.reranking import show_once
from shrag.serving.strategies.planning.subquery import Found
from shrag.serving.strategy import Request


class Merged(NamedTuple):
    """The events of the search in their order, and what an answer is made from."""

    keywords: Keywords
    queries: Queries
    hits: Hits
    ranking: Ranking
    pool: list[AnalysedRecord]
    words: list[Word]

    def events(self) -> tuple[Event, ...]:
        """Return the events in the order in which every strategy tells them."""
        return self.keywords, self.queries, self.hits, self.ranking


def merge(found: Sequence[Found], request: Request) -> Merged:
    """Return the searches of ``found``, of which there is at least one, as one; one alone stays as it is.

    The rankings take turns: the best record of each, in the order of ``found``, then the second best of each, and so
    on, each record where it first comes. Scores are not compared, since they belong to different questions, and a
    plan's questions each need their own record: what sums places over the rankings puts what fits all of them a little
    before what fits one of them well.

    A record's score is one over its place, and its place before that is the one it has in the joined pool.
    """
    first = found[0]
    if len(found) == 1:
        return Merged(first.keywords, first.queries, first.hits, first.ranking, list(first.pool), list(first.words))
    analysed = {each.record.docid: each for one in found for each in one.pool}
    pool = list(analysed)
    places = {docid: place for place, docid in enumerate(pool, 1)}
    order = dict.fromkeys(ranked.record.docid for ranked in _in_turn([one.ranking.records for one in found]))
    ranked = [
        RankedRecord(rank, places[docid], 1 / rank, analysed[docid].record) for rank, docid in enumerate(order, 1)
    ]
    kept = ranked if request.every_record else show_once(ranked)
    return Merged(
        Keywords(
            keywords=_once(one.keywords.keywords for one in found),
            unknown=tuple(dict.fromkeys(word for one in found for word in one.keywords.unknown)),
            order=first.keywords.order,
            model=next((one.keywords.model for one in found if one.keywords.model), ""),
        ),
        Queries(tuple(query for one in found for query in one.queries.queries)),
        Hits(
            hits=tuple(hits for one in found for hits in one.hits.hits),
            pool=tuple(pool),
            left_out=tuple(dict.fromkeys(docid for one in found for docid in one.hits.left_out)),
            dense=tuple(hit for one in found for hit in one.hits.dense),
            encoder=next((one.hits.encoder for one in found if one.hits.encoder), ""),
            encoder_is_model=any(one.hits.encoder_is_model for one in found),
        ),
        Ranking(
            records=tuple(kept[: request.k]),
            reranker=first.ranking.reranker,
            reranker_is_model=first.ranking.reranker_is_model,
            reason="" if kept else first.ranking.reason,
        ),
        list(analysed.values()),
        _words(found),
    )


def _in_turn(rankings: Sequence[Sequence[RankedRecord]]) -> Iterable[RankedRecord]:
    for place in range(max(map(len, rankings))):
        for ranking in rankings:
            if place < len(ranking):
                yield ranking[place]


def _once(keywords: Iterable[Sequence[Keyword]]) -> tuple[Keyword, ...]:
    first: dict[tuple[str, ...], Keyword] = {}
    for each in keywords:
        for keyword in each:
            first.setdefault(keyword.terms, keyword)
    return tuple(first.values())


def _words(found: Sequence[Found]) -> list[Word]:
    first: dict[tuple[str, ...], Word] = {}
    for one in found:
        for word in one.words:
            first.setdefault(word.terms, word)
    return list(first.values())
