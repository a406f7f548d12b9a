"""BM25 baseline strategy."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from shrag.indexing.analyzed_record import AnalysedRecord
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.query import Query, any_of
from shrag.serving.answering.answer import finish
from shrag.serving.events import Event, Hits, Keyword, Keywords, Queries, RankedRecord, Ranking
from shrag.serving.retrieval.fusion import collect
from shrag.serving.retrieval.query_terms import question_words, why_nothing
from shrag.serving.retrieval.reranking import show_once
from shrag.serving.strategy import Request, Resources, refuse_unused
from shrag.serving.timing import Stopwatch


class Bm25Strategy:
    """Implements :class:`~shrag.serving.strategy.Strategy`. Ranks incomplete records too; answers leave them out."""

    name = "bm25"

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`; no re-ranker is used, and a model for the answer alone.

        Raises :class:`SettingRejected` for settings, of which it has none: what had no effect would pass for a result.
        """
        refuse_unused(request.settings, self.name)
        return self._run(request, resources)

    def _run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        watch, index = Stopwatch(), resources.index
        with watch.stage("keywords"):
            words = question_words(request.question.text, index.analyzer, index.engine)
            (terms,) = index.analyzer.terms([request.question.text])
        known = [word for word in words if word.known]
        yield Keywords(
            keywords=tuple(Keyword(word.text, word.terms, word.uses * word.idf) for word in known),
            unknown=tuple(word.text for word in words if not word.known),
        )
        yield Queries((tuple(word.text for word in known),) if terms else ())
        with watch.stage("search"):
            hits, pool, records = _rank([any_of(terms)] if terms else [], index, request)
        yield hits
        ranking = Ranking(
            records=records,
            reranker="BM25",
            reranker_is_model=False,
            reason="" if pool else why_nothing(words),
        )
        yield ranking
        yield from finish(request, words, ranking, pool, resources, watch)


def _rank(
    queries: Sequence[Query], index: OpenIndex, request: Request
) -> tuple[Hits, list[AnalysedRecord], tuple[RankedRecord, ...]]:
    """Search as deep as it takes to find ``request.k`` papers, some of which the index may have twice."""
    depth = request.k
    while True:
        hits, pool = collect(queries, index, depth, complete_only=False)
        scores = {found.docid: found.score for found in hits.hits[0]} if hits.hits else {}
        ranked = [
            RankedRecord(rank, rank, scores[analysed.record.docid], analysed.record)
            for rank, analysed in enumerate(pool, 1)
        ]
        papers = ranked if request.every_record else show_once(ranked)
        if len(papers) >= request.k or len(pool) < depth:
            return hits, pool, tuple(papers[: request.k])
        depth += request.k - len(papers)
