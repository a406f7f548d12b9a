"""Merging of the searches of a plan into one search result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TypeVar

from shrag.serving.events import Hits, Keyword, Keywords, Queries, Ranking
from shrag.serving.request import Request
from shrag.serving.retrieval.query_terms import QueryTerm
from shrag.serving.retrieval.ranking import RetrievalResult, ScoredRecord, has_more, rank_records
from shrag.serving.strategies.planning.subquery import SubqueryResult

_Word = TypeVar("_Word", Keyword, QueryTerm)


def merge(found: Sequence[SubqueryResult], request: Request, sources: Sequence[str] = ()) -> RetrievalResult:
    """Merge the results of one or more searches into one; a single result stays as it is.

    The rankings are interleaved: the best record of each in turn, then the second best of each, and so on, each record
    once. Further pages follow the first ones. ``sources``, the records on which answers to the questions rest, follow
    the first record.

    Scores of different questions cannot be compared. Sums of ranks would prefer a record that fits all questions a
    little to one that fits a single question well, but each question needs its own record. A merged record's score is
    one over its rank; its rank before re-ranking is its position among the joined candidates.
    """
    first = found[0]
    if len(found) == 1:
        return replace(first, ranking=replace(first.ranking, records=(*first.ranking.records, *first.further)))
    candidates = {each.record.docid: each for one in found for each in one.candidates}
    positions = {docid: position for position, docid in enumerate(candidates, 1)}
    turns = [*zip_longest(*(one.ranking.records for one in found)), *zip_longest(*(one.further for one in found))]
    order = dict.fromkeys(ranked.record.docid for turn in turns for ranked in turn if ranked is not None)
    order = dict.fromkeys([*[*order][:1], *(docid for docid in sources if docid in order), *order])
    scored = [ScoredRecord(candidates[docid], 1 / rank, positions[docid]) for rank, docid in enumerate(order, 1)]
    ranked = rank_records(scored, request)
    return RetrievalResult(
        terms=_unique(term for one in found for term in one.terms),
        keywords=Keywords(
            keywords=tuple(_unique(keyword for one in found for keyword in one.keywords.keywords)),
            unknown=tuple(dict.fromkeys(word for one in found for word in one.keywords.unknown)),
            order=first.keywords.order,
            model=next((one.keywords.model for one in found if one.keywords.model), ""),
            excluded=tuple(dict.fromkeys(phrase for one in found for phrase in one.keywords.excluded)),
        ),
        queries=Queries(tuple(query for one in found for query in one.queries.queries)),
        hits=Hits(
            hits=tuple(hits for one in found for hits in one.hits.hits),
            candidates=tuple(candidates),
            incomplete=tuple(dict.fromkeys(docid for one in found for docid in one.hits.incomplete)),
            dense=tuple(hit for one in found for hit in one.hits.dense),
            encoder=next((one.hits.encoder for one in found if one.hits.encoder), ""),
            encoder_is_model=any(one.hits.encoder_is_model for one in found),
            depth=max(one.hits.depth for one in found),
        ),
        ranking=Ranking(
            records=ranked,
            reranker=first.ranking.reranker,
            reranker_is_model=first.ranking.reranker_is_model,
            reason="" if scored else first.ranking.reason,
            more=has_more(scored, ranked, request) or any(one.ranking.more for one in found),
        ),
        candidates=list(candidates.values()),
        merged=True,
    )


def _unique(words: Iterable[_Word]) -> list[_Word]:
    """Return the words, but only the first one of those with the same terms."""
    first: dict[tuple[str, ...], _Word] = {}
    for word in words:
        first.setdefault(word.terms, word)
    return list(first.values())
