"""Run a pipeline as a strategy."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import NamedTuple

from shrag.indexing.glossary.query_translation import analyze_question
from shrag.indexing.vectors.vector_index import VectorIndex
from shrag.serving.answering.answer import answer
from shrag.serving.concurrency import parallel_map
from shrag.serving.events import Event, Keywords, ModelCall, Node, NodeState, Purpose, Queries
from shrag.serving.llm.call_budget import RationedModel
from shrag.serving.llm.request_model import attempt
from shrag.serving.request import Question, Request
from shrag.serving.retrieval.query_terms import QueryTerm, keyword_of, query_terms, why_nothing
from shrag.serving.retrieval.ranking import RetrievalResult
from shrag.serving.search_settings import refuse_unused
from shrag.serving.strategies.pipeline.query_expansion import (
    ExpandedQuery,
    augment_by_model,
    augment_by_words,
    distinct,
    query_of_question,
    suppose_by_model,
    suppose_by_sentences,
    translated,
)
from shrag.serving.strategies.pipeline.reranking import Narrowing
from shrag.serving.strategies.pipeline.retrieval import (
    List,
    find_by_vectors,
    find_by_words,
    hits_event,
    pool_lists,
    pool_name,
)
from shrag.serving.strategies.pipeline.syntax import LARGEST_POOL, Composition, Stage
from shrag.serving.strategies.planning.plan import closing_with, ration, told_once
from shrag.serving.strategy import Resources, StageTimer, require_vectors


class CompositionStrategy:
    """Implements :class:`~shrag.serving.strategy.Strategy`: a composition, called ``name``, by its line if without one.

    The stages decide how many records there are; a request's ``k`` can make it fewer, never more. Without a model, and
    where it fails, queries, hypotheses and the temporary answer are made of the question's and the records' own words.
    """

    def __init__(self, composition: Composition, name: str = "") -> None:
        self.composition = composition
        self.name = name or str(composition)

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`.

        Raises :class:`StrategyUnavailable` where a stage needs vectors and the index has none, or not their encoder;
        :class:`SettingRejected` for settings, since its stages say how records are found: the glossary's can be had.
        """
        refuse_unused(request.settings, self.name, {"glossary"})
        dense = None
        for stage in self.composition.finders:
            if stage.name == "dense":
                instead = f"put retrieve({stage.argument}) in its place"
                dense = require_vectors(resources.index, f"the stage {stage}", instead)
        return told_once(self._run(request, *ration(resources), dense))

    def _run(
        self, request: Request, resources: Resources, model: RationedModel | None, dense: VectorIndex | None
    ) -> Generator[Event, None, None]:
        timer, index, question = StageTimer(), resources.index, request.question
        with timer.stage("keywords"):
            analyzed = analyze_question(question.text, index.analyzer, index.searcher, index.glossary)
            words = query_terms(analyzed)
            asked = query_of_question(analyzed, words)
        keywords = _keywords(words)
        yield keywords
        queries = [asked]
        maker = _Maker(question, words, asked, resources, model)
        for made in parallel_map(maker.make, self.composition.query_makers):
            timer.add(made.stage, made.seconds)
            yield from made.told
            queries += made.queries
        queries = distinct(queries)
        lists: list[List] = []
        for stage in self.composition.finders:
            with timer.stage(stage.name):
                depth = self.composition.number(stage.name)
                if stage.name == "dense" and dense is not None:
                    lists += find_by_vectors(queries, depth, dense)
                else:
                    lists += find_by_words(queries, depth, index)
        shown = Queries(tuple(one.query.words or (one.query.text,) for one in lists))
        yield shown
        fused = self.composition.number("rrf")
        with timer.stage("rrf" if fused else self.composition.finders[-1].name):
            pool = pool_lists(lists, fused or LARGEST_POOL, index)
        hits = hits_event(lists, pool, dense)
        yield hits
        nodes = _nodes(question, queries, lists)
        yield from nodes
        narrowing = Narrowing(request, resources, analyzed, words, pool, pool_name(lists, dense))
        for stage in self.composition.behind:
            with timer.stage(stage.name):
                told = narrowing.do(stage, model)
            yield from told
        ranking = narrowing.ranking(why_nothing(words))
        yield ranking
        found = RetrievalResult(words, keywords, shown, hits, ranking, [each.record for each in pool.candidates])
        rest = answer(request, found, resources, timer)
        if nodes:
            root = replace(nodes[0], answer=narrowing.answer)
            rest = closing_with(root, rest, answered=bool(ranking.records))
        yield from rest


class _Made(NamedTuple):
    """What a stage made, how long it took, and what is to be told of it."""

    stage: str
    queries: list[ExpandedQuery]
    seconds: float
    told: list[Event]


class _Maker:
    """Makes queries for one question, by the model where there is one and it can."""

    def __init__(
        self,
        question: Question,
        words: Sequence[QueryTerm],
        asked: ExpandedQuery,
        resources: Resources,
        model: RationedModel | None,
    ) -> None:
        self._question = question
        self._words = words
        self._asked = asked
        self._index = resources.index
        self._model = model

    def make(self, stage: Stage) -> _Made:
        """Do one stage that adds queries."""
        started = time.perf_counter()
        count = stage.argument if isinstance(stage.argument, int) else 1
        told: list[Event] = []
        if stage.name == "augment":
            queries, told = self._by_model_or_words(
                "query",
                lambda model: augment_by_model(self._question, count, self._index, model),
                lambda: augment_by_words(self._words, self._question.language, count, self._index),
            )
        elif stage.name == "hypothesis":
            queries, told = self._by_model_or_words(
                "hypothesis",
                lambda model: suppose_by_model(self._question, count, self._index, model),
                lambda: suppose_by_sentences(self._words, self._asked, count, self._index),
            )
        else:
            queries = translated(self._words, self._question.language, "expansion")
        return _Made(stage.name, queries, time.perf_counter() - started, told)

    def _by_model_or_words(
        self,
        purpose: Purpose,
        by_model: Callable[[RationedModel], tuple[list[ExpandedQuery], list[ModelCall]]],
        by_words: Callable[[], list[ExpandedQuery]],
    ) -> tuple[list[ExpandedQuery], list[Event]]:
        model = self._model
        if model is None:
            return by_words(), []
        queries, told = attempt(purpose, lambda: by_model(model))
        return (queries if queries is not None else by_words()), told


def _keywords(words: Sequence[QueryTerm]) -> Keywords:
    return Keywords(
        keywords=tuple(keyword_of(word, word.frequency * word.idf) for word in words if word.known),
        unknown=tuple(word.text for word in words if not word.known),
    )


def _nodes(question: Question, queries: Sequence[ExpandedQuery], lists: Sequence[List]) -> list[Node]:
    """Return the queries made from the question as the tree they are, none where there is the question alone."""
    made = [query for query in queries if query.kind != "question"]
    if not made:
        return []
    nodes = [Node(0, None, "question", question.text, query=question.text)]
    for number, query in enumerate(made, 1):
        found = dict.fromkeys(hit.docid for one in lists if one.query is query for hit in one.hits)
        state: NodeState = "answered" if found else "unanswered"
        nodes.append(Node(number, 0, query.kind, query.text, state, query=query.text, docids=tuple(found)))
    return nodes
