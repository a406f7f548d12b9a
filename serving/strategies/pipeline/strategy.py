"""A pipeline of stages as a strategy."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from shrag.indexing.translation.query_translation import analyze_question
from shrag.indexing.vectors.vector_index import VectorIndex
from shrag.messages.text import Text
from shrag.serving.answering.answer import StageTimer, answer
from shrag.serving.concurrency import parallel_map
from shrag.serving.events import Event, Node, NodeState, Queries
from shrag.serving.llm.request_model import attempt
from shrag.serving.request import Question, Request
from shrag.serving.retrieval.query_terms import QueryTerm, query_terms, question_keywords, why_nothing
from shrag.serving.retrieval.ranking import RetrievalResult
from shrag.serving.search_settings import ANSWERING, BUDGET, refuse_unused
from shrag.serving.strategies.pipeline.paper_scope import PaperScope, find_paper
from shrag.serving.strategies.pipeline.presets import Source, over_vectors
from shrag.serving.strategies.pipeline.query_expansion import (
    ExpandedQuery,
    augment_by_model,
    augment_by_words,
    distinct,
    hypotheses_by_model,
    hypotheses_by_sentences,
    query_of_question,
    translated,
)
from shrag.serving.strategies.pipeline.reranking import RankedList
from shrag.serving.strategies.pipeline.retrieval import (
    QueryHits,
    describe_order,
    fuse_lists,
    hits_event,
    search_vectors,
    search_words,
)
from shrag.serving.strategies.pipeline.syntax import LARGEST_LIST, Pipeline, Stage
from shrag.serving.strategies.planning.plan import insert_final_root, report_once, with_budget
from shrag.serving.strategies.stepwise.similarity_threshold import model_vectors
from shrag.serving.strategy import Resources, require_vectors


class PipelineStrategy:
    """Implements :class:`~shrag.serving.strategy.Strategy` by a pipeline; its line is the default name.

    The stages decide how many records there are; a request's ``k`` can lower this number, but not raise it. Without a
    model, or if it fails, queries, hypotheses and the temporary answer are made of the question's and the records' own
    words.
    """

    def __init__(self, pipeline: Pipeline, name: str = "", source: Source = "bm25") -> None:
        """Make the strategy of ``pipeline``; ``source`` says what it searches (:data:`Source`)."""
        self.pipeline = over_vectors(pipeline) if source == "dense" else pipeline
        self.name = name or str(pipeline)
        self._source = source

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`."""
        settings = request.settings
        refuse_unused(settings, self.name, {"glossary", "paper"} | ANSWERING | BUDGET)
        pipeline = self.pipeline
        if not self._source and model_vectors(resources.index) is not None:
            pipeline = over_vectors(pipeline)
        dense = None
        for stage in pipeline.search_stages:
            if stage.name == "dense":
                instead = Text("put retrieve({argument}) in its place", argument=stage.argument)
                dense = require_vectors(resources.index, Text("the stage {stage}", stage=stage), instead)
        scope = find_paper(settings.paper, resources.index) if settings.paper else None
        run = _PipelineRun(pipeline, dense, scope)
        return report_once(run.events(request, with_budget(resources, settings)))


@dataclass(frozen=True, slots=True)
class _PipelineRun:
    """A pipeline with the vectors that it searches and the paper that it searches in, if any."""

    pipeline: Pipeline
    dense: VectorIndex | None
    scope: PaperScope | None

    def events(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """Yield the events of :meth:`PipelineStrategy.run`."""
        timer, index, question = StageTimer(), resources.index, request.question
        with timer.stage("keywords"):
            analyzed = analyze_question(question.text, index.analyzer, index.searcher, index.glossary)
            words = query_terms(analyzed)
            own = query_of_question(analyzed, words)
        keywords = question_keywords(words)
        yield keywords
        queries = [own]
        stages = self.pipeline.expansion_stages
        expanded = parallel_map(lambda stage: _expand(stage, question, words, own, resources), stages)
        for stage, (added, events, seconds) in zip(stages, expanded, strict=True):
            timer.add(stage.name, seconds)
            yield from events
            queries += added
        queries = distinct(queries)
        lists: list[QueryHits] = []
        for stage in self.pipeline.search_stages:
            with timer.stage(stage.name):
                depth = self.pipeline.number(stage.name)
                if stage.name == "dense" and self.dense is not None:
                    lists += search_vectors(queries, depth, self.dense, self.scope)
                else:
                    lists += search_words(queries, depth, index, self.scope)
        shown = Queries(tuple(one.query.words or (one.query.text,) for one in lists))
        yield shown
        most = self.pipeline.number("rrf")
        with timer.stage("rrf" if most else self.pipeline.search_stages[-1].name):
            fused = fuse_lists(lists, most or LARGEST_LIST, index)
        depths = [self.pipeline.number(stage.name) for stage in self.pipeline.search_stages]
        hits = hits_event(lists, fused, self.dense, max(depths))
        yield hits
        nodes = _nodes(question, queries, lists)
        yield from nodes
        ranked = RankedList(request, resources, analyzed, words, fused, describe_order(lists, self.dense))
        for stage in self.pipeline.ranking_stages:
            with timer.stage(stage.name):
                events = ranked.apply(stage)
            yield from events
        ranking = ranked.ranking(why_nothing(words, filtered=bool(request.record_filter)))
        yield ranking
        found = RetrievalResult(words, keywords, shown, hits, ranking, [each.record for each in fused.candidates])
        rest = answer(request, found, resources, timer)
        if nodes:
            root = replace(nodes[0], answer=ranked.answer)
            yield from insert_final_root(root, rest, answered=bool(ranking.records))
        else:
            yield from rest


def _expand(
    stage: Stage, question: Question, words: Sequence[QueryTerm], own: ExpandedQuery, resources: Resources
) -> tuple[list[ExpandedQuery], list[Event], float]:
    """Return the queries that a stage adds, its events and its seconds; ``own`` is the question's own query."""
    started = time.perf_counter()
    count = stage.argument if isinstance(stage.argument, int) else 1
    index, model = resources.index, resources.model
    queries: list[ExpandedQuery] | None
    if stage.name == "augment":
        queries, events = attempt("query", model, partial(augment_by_model, question, count, index))
        if queries is None:
            queries = augment_by_words(words, question.language, count, index)
    elif stage.name == "hypothesis":
        queries, events = attempt("hypothesis", model, partial(hypotheses_by_model, question, count, index))
        if queries is None:
            queries = hypotheses_by_sentences(words, own, count, index)
    else:
        queries, events = translated(words, question.language, "expansion"), []
    return queries, events, time.perf_counter() - started


def _nodes(question: Question, queries: Sequence[ExpandedQuery], lists: Sequence[QueryHits]) -> list[Node]:
    """Return the question and the queries added to it as nodes, none if no query was added."""
    added = [query for query in queries if query.kind != "question"]
    if not added:
        return []
    nodes = [Node(0, None, "question", question.text, query=question.text)]
    for number, query in enumerate(added, 1):
        found = dict.fromkeys(hit.docid for one in lists if one.query is query for hit in one.hits)
        state: NodeState = "answered" if found else "unanswered"
        nodes.append(Node(number, 0, query.kind, query.text, state, query=query.text, docids=tuple(found)))
    return nodes
