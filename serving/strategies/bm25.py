"""The strategy bm25, a baseline: all words of the question as one OR query, ranked by BM25."""

from __future__ import annotations

from collections.abc import Generator

from shrag.indexing.glossary.query_translation import analyze_question
from shrag.indexing.query import any_of
from shrag.serving.answering.answer import StageTimer, answer
from shrag.serving.events import Event, Queries, Ranking
from shrag.serving.request import Request
from shrag.serving.retrieval.query_terms import query_terms, question_keywords, why_nothing
from shrag.serving.retrieval.ranking import RetrievalResult, ScoredRecord, rank_records, search_candidates
from shrag.serving.search_settings import refuse_unused
from shrag.serving.strategy import Resources


class Bm25Strategy:
    """Implements :class:`~shrag.serving.strategy.Strategy`. Ranks incomplete records too; answers leave them out."""

    name = "bm25"

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`; no setting is used, and a model only for the answer."""
        refuse_unused(request.settings, self.name)
        return self._run(request, resources)

    def _run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        timer, index = StageTimer(), resources.index
        with timer.stage("keywords"):
            question = analyze_question(request.question.text, index.analyzer, index.searcher)
            words = query_terms(question)
        keywords = question_keywords(words)
        yield keywords
        queries = Queries((tuple(keyword.text for keyword in keywords.keywords),) if question.terms else ())
        yield queries
        query = [any_of(question.terms)] if question.terms else []
        depth = request.k
        with timer.stage("search"):
            while True:
                hits, records = search_candidates(query, index, depth, complete_only=False)
                scores = {hit.docid: hit.score for hit in hits.hits[0]} if hits.hits else {}
                scored = [
                    ScoredRecord(record, scores[record.record.docid], rank) for rank, record in enumerate(records, 1)
                ]
                ranked = rank_records(scored, request)
                if len(ranked) >= request.k or len(records) < depth:
                    break
                depth += request.k - len(ranked)  # some papers are in the index twice
        yield hits
        ranking = Ranking(ranked, "BM25", reranker_is_model=False, reason="" if records else why_nothing(words))
        yield ranking
        found = RetrievalResult(words, keywords, queries, hits, ranking, records)
        yield from answer(request, found, resources, timer)
