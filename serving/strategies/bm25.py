"""Baseline strategy ``bm25``: one OR query of all words of the question, ranked by BM25, without query translation."""

from __future__ import annotations

from collections.abc import Generator

from shrag.indexing.query import any_of
from shrag.indexing.translation.query_translation import analyze_question
from shrag.serving.answering.answer import StageTimer, answer
from shrag.serving.events import Event, Queries, Ranking
from shrag.serving.request import Request
from shrag.serving.retrieval.query_terms import query_terms, question_keywords, why_nothing
from shrag.serving.retrieval.ranking import (
    RetrievalResult,
    ScoredRecord,
    has_more,
    rank_records,
    search_candidates,
)
from shrag.serving.search_settings import ANSWERING, refuse_unused
from shrag.serving.strategy import Resources


class Bm25Strategy:
    """Implements :class:`~shrag.serving.strategy.Strategy`.

    Records without a title or an abstract (``Record.complete`` is false) are ranked too, but never cited.
    """

    name = "bm25"

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """Rank by BM25, and answer. A language model is used for the answer alone.

        Raises:
            SettingRejected: The request changes a setting that this strategy does not use.
        """
        refuse_unused(request.settings, self.name, ANSWERING)  # before the first event, and so not in the generator
        return self._events(request, resources)

    def _events(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        timer, index = StageTimer(), resources.index
        with timer.stage("keywords"):
            question = analyze_question(request.question.text, index.analyzer, index.searcher)
            words = query_terms(question)
        keywords = question_keywords(words)
        yield keywords
        queries = Queries((tuple(keyword.text for keyword in keywords.keywords),) if question.terms else ())
        yield queries
        query = [any_of(question.terms)] if question.terms else []
        depth, deeper = request.last_rank, 0
        with timer.stage("search"):
            while True:
                hits, records = search_candidates(query, index, depth, complete_only=False)
                scores = {hit.docid: hit.score for hit in hits.hits[0]} if hits.hits else {}
                scored = [
                    ScoredRecord(record, scores[record.record.docid], rank) for rank, record in enumerate(records, 1)
                ]
                ranked = rank_records(scored, request)
                if len(ranked) >= request.last_rank or len(records) < depth:
                    break
                # The ranking drops duplicates of a paper: search deeper, and for very many of them twice as deep.
                deeper = max(request.last_rank - len(ranked), 2 * deeper)
                depth += deeper
        yield hits
        reason = "" if records else why_nothing(words, filtered=bool(request.record_filter))
        more = len(records) == depth or has_more(scored, ranked, request)
        ranking = Ranking(ranked, "BM25", reranker_is_model=False, reason=reason, more=more)
        yield ranking
        found = RetrievalResult(words, keywords, queries, hits, ranking, records)
        yield from answer(request, found, resources, timer)
