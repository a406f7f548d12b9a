"""Retriever: keywords, queries, candidates and a ranking, as events (steps 1 to 4 of SHRAG)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.glossary.query_translation import AnalyzedQuestion, analyze_question
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.query import Query
from shrag.indexing.search_engine import Hit
from shrag.serving.events import Event, Hits, KeywordOrder, Keywords, Queries, Ranking, ScoredDoc
from shrag.serving.request import Request
from shrag.serving.retrieval.model_keywords import extract_keywords
from shrag.serving.retrieval.query_builder import QueryPlan, build_queries, filter_languages
from shrag.serving.retrieval.query_terms import (
    QueryTerm,
    choose_phrases,
    keyword_of,
    query_terms,
    rank_keywords,
    searchable,
    why_nothing,
    without_terms,
)
from shrag.serving.retrieval.ranking import (
    ScoredRecord,
    bind_question,
    collect_candidates,
    rank_records,
    reciprocal_rank_fusion,
    rerank,
)
from shrag.serving.retrieval.rerankers import CosineReranker, NoReranker
from shrag.serving.search_settings import Candidates
from shrag.serving.strategy import Resources, StageTimer

if TYPE_CHECKING:
    from shrag.models.encoder import Encoder

DEPTH = 10
"""Hits each query is asked for, as in the paper; a caller who wants more records than that gets them."""


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """A question's own words, the events of its search, and the records of the candidates in their order."""

    terms: Sequence[QueryTerm]
    keywords: Keywords
    queries: Queries
    hits: Hits
    ranking: Ranking
    candidates: Sequence[AnalyzedRecord]

    @property
    def events(self) -> tuple[Event, ...]:
        """The events of the search in the order in which every strategy yields them."""
        return self.keywords, self.queries, self.hits, self.ranking


class Nearest(NamedTuple):
    """What vectors found for a question, best first, and the encoder that made them."""

    hits: Sequence[Hit]
    encoder: Encoder


def retrieve(
    request: Request, resources: Resources, source: Candidates, timer: StageTimer, cosine_weight: float = 0.0
) -> Generator[Event, None, RetrievalResult]:
    """Yield the keywords, the queries, the hits and the ranking of a question; return them with the candidates.

    Args:
        request: The request.
        resources: The index, which has vectors where they are wanted
            (:func:`~shrag.serving.strategy.require_vectors`); the re-ranker; the model that chooses keywords, if any.
        source: Where candidates come from: what words find, what vectors find, or both.
        timer: Adds up the time of each stage.
        cosine_weight: What the cosine of stored vectors counts beside the re-ranker's score; 0 leaves it out.
    """
    index, settings = resources.index, request.settings
    question, terms, chosen = yield from _choose_keywords(request, resources, timer)
    plan = QueryPlan(Queries(()), [])
    if source != "dense":
        plan = build_queries(chosen.keywords, request.question.language, settings, chosen.own, chosen.excluded)
    yield plan.event
    depth = settings.depth or max(DEPTH, request.k)
    nearest = None
    if index.dense is not None and (cosine_weight or source != "lexical"):
        with timer.stage("vectors"):
            vector = index.dense.encode(question.text)
            nearest = Nearest(index.dense.search(vector, depth), index.dense.encoder) if source != "lexical" else None
    with timer.stage("search"):
        hits, records = search_candidates(plan.queries, index, depth, nearest)
    yield hits
    with timer.stage("ranking"):
        reranker = bind_question(resources.reranker, question) if settings.rerank else NoReranker()
        if settings.rerank and index.dense is not None and cosine_weight:
            cosines = index.dense.cosines(vector, hits.candidates)
            reranker = CosineReranker(reranker, cosines, cosine_weight, index.dense.encoder)
        unranked = [ScoredRecord(record, 0.0, rank) for rank, record in enumerate(records, 1)]
        scored = rerank(question.text, unranked, reranker)
        reason = "nothing_fits" if records else why_nothing(terms)
        ranking = Ranking(
            rank_records(scored, request), reranker.name, reranker.is_model, reason="" if scored else reason
        )
    yield ranking
    return RetrievalResult(terms, chosen.event, plan.event, hits, ranking, records)


class _ChosenKeywords(NamedTuple):
    """The keywords to search for, the most important first, and the event that shows them.

    ``own`` are the keywords among the question's words where a model chose others: they are searched for too, by one
    query, so that a model that mistakes the question cannot lose what it says. ``excluded`` are the phrases whose
    records are left out.
    """

    event: Keywords
    keywords: list[QueryTerm]
    own: list[QueryTerm]
    excluded: Sequence[Sequence[QueryTerm]]


def _choose_keywords(
    request: Request, resources: Resources, timer: StageTimer
) -> Generator[Event, None, tuple[AnalyzedQuestion, list[QueryTerm], _ChosenKeywords]]:
    """Yield the model's calls, if there is one, and the keywords; return the analyzed question and its words, too.

    Without a model, and where it fails, the question's own words are the keywords.
    """
    index, model, settings = resources.index, resources.model, request.settings
    with timer.stage("keywords"):
        question = analyze_question(request.question.text, index.analyzer, index.searcher, index.glossary)
        terms = query_terms(question)
        own = choose_phrases(searchable(terms), question.text, settings.words)
    by_model = None
    if model is not None and any(term.keyword for term in terms):
        by_model = yield from extract_keywords(request.question, question.terms, index, model, settings.words, timer)
    order: KeywordOrder = "tfidf" if settings.keyword_order == "model" and not by_model else settings.keyword_order
    candidates = by_model.keywords if by_model else own
    beside = without_terms(own, by_model.excluded) if by_model else []
    with timer.stage("keywords"):
        if settings.languages != "both":
            candidates = filter_languages(candidates, settings.languages, request.question.language)
        ranked = rank_keywords(candidates, order, index.searcher)[: settings.keywords]
        beside = [word for word, _ in rank_keywords(beside, "tfidf", index.searcher)[: settings.keywords]]
    event = Keywords(
        keywords=tuple([keyword_of(word, weight) for word, weight in ranked]),
        unknown=tuple([term.text for term in terms if not term.known]),
        order=order,
        model=model.name if model is not None and by_model else "",
    )
    yield event
    excluded = by_model.excluded if by_model else ()
    return question, terms, _ChosenKeywords(event, [word for word, _ in ranked], beside, excluded)


def search_candidates(
    queries: Sequence[Query],
    index: OpenIndex,
    depth: int,
    nearest: Nearest | None = None,
    *,
    complete_only: bool = True,
) -> tuple[Hits, list[AnalyzedRecord]]:
    """Run the queries; return what they found, and the records of the candidates in their order.

    Candidates are all hits in the order in which the queries first found them, each record once. With vectors, that
    order and theirs are fused by reciprocal ranks.

    Args:
        queries: The queries.
        index: The index.
        depth: Hits that each query is asked for.
        nearest: What vectors found, best first.
        complete_only: Whether records that cannot support an answer are left out.
    """
    lists = index.searcher.search(queries, depth) if queries else []
    docids = list(dict.fromkeys([hit.docid for found in lists for hit in found]))
    if nearest is not None and nearest.hits:
        docids = [docid for docid, _ in reciprocal_rank_fusion([docids, [hit.docid for hit in nearest.hits]])]
    records, incomplete = collect_candidates(docids, index.store, complete_only=complete_only)
    hits = Hits(
        hits=tuple([tuple([ScoredDoc(*hit) for hit in found]) for found in lists]),
        candidates=tuple([each.record.docid for each in records]),
        incomplete=tuple(incomplete),
        dense=tuple([ScoredDoc(*hit) for hit in nearest.hits]) if nearest is not None else (),
        encoder=nearest.encoder.name if nearest is not None else "",
        encoder_is_model=nearest.encoder.is_model if nearest is not None else False,
    )
    return hits, records
