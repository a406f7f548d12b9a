"""Find candidates and rank them (steps 3 and 4 of SHRAG).

The module runs queries, fuses their lists, re-ranks the records, and shows each paper once.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from shrag.indexing.analyzed_record import AnalyzedRecord, to_passage
from shrag.indexing.lexical.evidence import covered_idf
from shrag.indexing.lexical.reranker import LexicalReranker, QuestionReranker
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.query import Query
from shrag.indexing.search_engine import Hit
from shrag.indexing.translation.query_translation import AnalyzedQuestion
from shrag.indexing.vectors.hybrid_reranker import HybridReranker
from shrag.models.reranker import Reranker
from shrag.serving.events import (
    Event,
    Hits,
    Keywords,
    ListingKind,
    Queries,
    RankedRecord,
    Ranking,
    ScoredDoc,
)
from shrag.serving.request import AnswerLanguage, Request
from shrag.serving.retrieval.broad_questions import BroadQuestion
from shrag.serving.retrieval.query_terms import QueryTerm

if TYPE_CHECKING:
    from shrag.models.encoder import Encoder

RRF_K = 60
"""The constant of reciprocal rank fusion, with the value of its paper."""

# A record in the question's language with this share of the best score may be as good. With 0.98, 3 of 8,366 questions
# of wiki-en in one index with wiki-ko gain their first record and one of wiki-ko, and none of any set loses it. With
# 0.95, one more of multihop-ko gains it; with 0.94, one of 752 titles in the other language loses it.
_AS_GOOD = 0.95


class Listing(NamedTuple):
    """A broad question, the docids of the first records, which serve it best, and what these are."""

    question: BroadQuestion
    docids: frozenset[str]
    kind: ListingKind


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """A question's own words, the events of its search, and the records of the candidates in their order.

    ``merged`` says that the result is of searches for several questions, whose records may complete one another.
    ``first_page`` is the number of ranked records on the first page. ``listing`` has the first records if the question
    is broad.
    """

    terms: Sequence[QueryTerm]
    keywords: Keywords
    queries: Queries
    hits: Hits
    ranking: Ranking
    candidates: Sequence[AnalyzedRecord]
    merged: bool = field(default=False, kw_only=True)
    first_page: int = field(default=0, kw_only=True)
    listing: Listing | None = field(default=None, kw_only=True)

    @property
    def events(self) -> tuple[Event, ...]:
        """The events of the search in the order in which every strategy yields them."""
        return self.keywords, self.queries, self.hits, self.ranking


class Nearest(NamedTuple):
    """The hits of a vector search for a question, best first, and the encoder that made the vectors."""

    hits: Sequence[Hit]
    encoder: Encoder


def search_candidates(
    queries: Sequence[Query],
    index: OpenIndex,
    depth: int,
    nearest: Nearest | None = None,
    *,
    complete_only: bool = True,
) -> tuple[Hits, list[AnalyzedRecord]]:
    """Run the queries; return the hits, and the records of the candidates in order.

    Candidates are the distinct hits in the order in which the queries first found them. Reciprocal rank fusion joins
    this order with that of the vector search, if there is one.

    Args:
        queries: The queries.
        index: The index.
        depth: Number of hits of each query.
        nearest: The hits of a vector search.
        complete_only: Whether to leave out records without title or abstract, which cannot support an answer.
    """
    lists = index.searcher.search(queries, depth) if queries else []
    docids = list(dict.fromkeys([hit.docid for found in lists for hit in found]))
    if nearest is not None and nearest.hits:
        docids = [docid for docid, _ in reciprocal_rank_fusion([docids, [hit.docid for hit in nearest.hits]])]
    fetched = index.store.fetch(docids)
    records = [each for each in fetched if each is not None and (each.record.complete or not complete_only)]
    collected = {each.record.docid: None for each in records}
    hits = Hits(
        hits=tuple([tuple([ScoredDoc(*hit) for hit in found]) for found in lists]),
        candidates=tuple(collected),
        incomplete=tuple([docid for docid in docids if docid not in collected]),
        dense=tuple([ScoredDoc(*hit) for hit in nearest.hits]) if nearest is not None else (),
        encoder=nearest.encoder.name if nearest is not None else "",
        encoder_is_model=nearest.encoder.is_model if nearest is not None else False,
        depth=depth,
    )
    return hits, records


def reciprocal_rank_fusion(rankings: Sequence[Sequence[str]]) -> list[tuple[str, float]]:
    """Return every document of the rankings with the sum of ``1 / (RRF_K + rank)`` over them, best first.

    Ranks count from 1, and docids decide ties. If a ranking has a document twice, the second one is ignored.
    Source: Cormack, Clarke and Büttcher, *Reciprocal rank fusion outperforms Condorcet and individual rank learning
    methods*, SIGIR 2009.

    >>> [docid for docid, _ in reciprocal_rank_fusion([["a", "b", "b", "c"], ["c", "d"]])]
    ['c', 'a', 'b', 'd']
    """
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, docid in enumerate(dict.fromkeys(ranking), 1):
            scores[docid] = scores.get(docid, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores.items(), key=lambda entry: (-entry[1], entry[0]))


class ScoredRecord(NamedTuple):
    """A record, its score, and its rank among the candidates before re-ranking, from 1.

    ``words`` is the score by the question's words alone, if the re-ranker has computed that too.
    """

    record: AnalyzedRecord
    score: float
    candidate_rank: int
    words: float | None = None


def bind_question(reranker: Reranker, question: AnalyzedQuestion, index: OpenIndex) -> Reranker:
    """Return the re-ranker for one question: a lexical one uses its analysis, others read its text themselves."""
    if isinstance(reranker, HybridReranker):
        return replace(reranker, words=bind_question(reranker.words, question, index))
    if isinstance(reranker, LexicalReranker) and reranker.lexicon is question.lexicon:
        return QuestionReranker(question, reranker.parameters, scorer=index.scorer)
    return reranker


def rerank(
    text: str, candidates: Sequence[ScoredRecord], reranker: Reranker, first: int | None = None
) -> list[ScoredRecord]:
    """Return the candidates with the re-ranker's scores for ``text``, best first, ties by docid.

    Candidates with the score −∞ are left out. Candidates behind the ``first``, by default none, do not change the
    scores of these.
    """
    lexical = reranker.words if isinstance(reranker, HybridReranker) else reranker
    by_words: Sequence[float | None] = [None] * len(candidates)
    if isinstance(lexical, QuestionReranker):
        found = lexical.score_records([each.record for each in candidates])
        scores, by_words = [each.total for each in found], [each.words for each in found]
    else:
        scores = lexical.score(text, [to_passage(each.record) for each in candidates])
    if isinstance(reranker, HybridReranker):
        scores = reranker.add_cosines(text, [to_passage(each.record) for each in candidates], scores, first)
    shown = [
        ScoredRecord(each.record, score, each.candidate_rank, words)
        for each, score, words in zip(candidates, scores, by_words, strict=True)
        if score > -math.inf
    ]
    return sorted(shown, key=lambda each: (-each.score, each.record.record.docid))


def own_language_first(
    question: AnalyzedQuestion, ranked: list[ScoredRecord], language: AnswerLanguage
) -> list[ScoredRecord]:
    """Return the records with one in ``language`` in front if it is as good as a first one that is not.

    It is if it scores about as high, and has words of the question with as much idf.
    """
    if not ranked or ranked[0].record.record.language in {language, "und"}:
        return ranked
    best, covered = ranked[0].score, covered_idf(question, ranked[0].record)
    for place, each in enumerate(ranked):
        if each.score < _AS_GOOD * best:
            break
        if each.record.record.language == language and covered_idf(question, each.record) >= covered:
            return [each._replace(score=best), *ranked[:place], *ranked[place + 1 :]]
    return ranked


def limit_incomplete(scored: Iterable[ScoredRecord], most: int) -> list[ScoredRecord]:
    """Return the records, but only the first ``most`` of those that lack a title or an abstract."""
    places = iter(range(most))
    return [each for each in scored if each.record.record.complete or next(places, None) is not None]


def rank_records(scored: Iterable[ScoredRecord], request: Request) -> tuple[RankedRecord, ...]:
    """Return the ranking of ``scored``, best first, down to the last rank of the requested page.

    Each paper is ranked once, unless the request asks for every record.
    """
    ranked = [
        RankedRecord(rank, each.candidate_rank, each.score, each.record.record) for rank, each in enumerate(scored, 1)
    ]
    last = request.last_rank
    return tuple(ranked[:last] if request.every_record else collapse_duplicates(ranked, last))


def has_more(scored: Iterable[ScoredRecord], ranked: Sequence[RankedRecord], request: Request) -> bool:
    """Return whether ``ranked``, the ranking of a request, leaves out records of ``scored``."""
    records = (each.record.record for each in scored)
    return len({each.docid if request.every_record else each.paper for each in records}) > len(ranked)


def continue_page(
    ranked: Sequence[RankedRecord], first: Iterable[ScoredRecord], scored: Iterable[ScoredRecord]
) -> list[ScoredRecord]:
    """Return the records of the first page, and behind them all others, which a deeper search found.

    Args:
        ranked: The first page.
        first: The records of the search for the first page, best first.
        scored: These records and those of the search for further pages, best first.
    """
    page = {each.record.docid for each in ranked}
    ahead = [each for each in first if each.record.record.docid in page]
    return [*ahead, *(each for each in scored if each.record.record.docid not in page)]


def leave_out_earlier_pages(events: Generator[Event, None, None], offset: int) -> Generator[Event, None, None]:
    """Yield the events, with the first ``offset`` records of the ranking left out."""
    with closing(events):
        for event in events:
            if isinstance(event, Ranking) and event.records:
                records = event.records[offset:]
                yield replace(event, records=records, reason=event.reason if records else "past_end")
            else:
                yield event


def collapse_duplicates(ranked: Iterable[RankedRecord], most: int | None = None) -> list[RankedRecord]:
    """Return the best record of each paper, at most ``most`` records, ranked anew.

    The ``duplicates`` of a record are the paper's other ranked records, in order, and its first record in the corpus.
    """
    papers: dict[str, list[RankedRecord]] = {}
    for each in ranked:
        papers.setdefault(each.record.paper, []).append(each)
    return [
        RankedRecord(rank, each[0].candidate_rank, each[0].score, each[0].record, _others(paper, each))
        for rank, (paper, each) in enumerate(islice(papers.items(), most), 1)
    ]


def _others(paper: str, ranked: list[RankedRecord]) -> tuple[str, ...]:
    if len(ranked) == 1 and ranked[0].record.docid == paper:
        return ()
    docids = dict.fromkeys([*(each.record.docid for each in ranked), paper])
    return tuple(docids)[1:]
