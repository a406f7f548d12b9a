"""Engine: answers questions over one open index, with its models and the answer cache.

The Python API, the HTTP servers and the command line all answer questions through this class.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial, wraps
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from shrag.corpora.records import Record
from shrag.indexing.errors import IndexDamaged
from shrag.indexing.open_index import OpenIndex, open_index
from shrag.indexing.record_filter import EVERY_RECORD, RecordFilter
from shrag.indexing.search_engine import LUCENE, EngineChoice
from shrag.indexing.storage.checksums import Verify
from shrag.indexing.storage.manifest import manifest_digest
from shrag.indexing.storage.vector_card import weights_folder
from shrag.messages.text import Text
from shrag.models.chat.circuit_breaker import CircuitBreaker
from shrag.models.chat.endpoint_pool import EndpointPool
from shrag.models.language_model import LanguageModel
from shrag.models.reranker import Reranker
from shrag.prompts.prompt import prompts_fingerprint
from shrag.serving.answer_cache import AnswerCache, AnswerKey
from shrag.serving.concurrency import CancellationToken
from shrag.serving.errors import Requirement, StrategyUnavailable
from shrag.serving.event_run import EventRun, SingleFlight
from shrag.serving.events import Event, KeywordOrder
from shrag.serving.llm.request_model import RequestModel
from shrag.serving.request import DEFAULT_K, DEFAULT_STRATEGY, Request, Turn, check_min_confidence, parse_request
from shrag.serving.results import AskResult, SearchResult, ask_result, search_result
from shrag.serving.retrieval.filtered_search import FilteredSearcher
from shrag.serving.retrieval.follow_up import read_follow_up
from shrag.serving.retrieval.named_authors import NamedAuthors, find_named_authors
from shrag.serving.retrieval.ranking import leave_out_earlier_pages
from shrag.serving.retrieval.rerankers import AUTO, WordsAlone, check_reranker, open_lexical_reranker, open_reranker
from shrag.serving.search_settings import PRODUCT, SearchSettings
from shrag.serving.strategies.authors_first import search_with_authors
from shrag.serving.strategies.known_items import KnownItems, find_known_items, show_known_items
from shrag.serving.strategies.registry import STRATEGIES, find_strategy
from shrag.serving.strategy import Resources, Strategy

_Begin = Callable[[], Generator[Event, None, None]]
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def _in_thread(
    method: Callable[Concatenate[Engine, _Arguments], _Result],
) -> Callable[Concatenate[Engine, _Arguments], Coroutine[Any, Any, _Result]]:
    """Return a coroutine function that calls ``method`` in a thread; cancelling its task cancels the call."""

    @wraps(method)
    async def call(engine: Engine, /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        token = CancellationToken()
        given = kwargs.get("cancellation")
        if isinstance(given, CancellationToken):
            given.on_cancel(token.cancel)
        kwargs["cancellation"] = token
        try:
            return await asyncio.to_thread(method, engine, *args, **kwargs)
        except asyncio.CancelledError:
            token.cancel()
            raise

    return call


def _taken_in_threads(
    method: Callable[Concatenate[Engine, _Arguments], EventRun[Event]],
) -> Callable[Concatenate[Engine, _Arguments], AsyncGenerator[Event, None]]:
    """Return an asynchronous generator function that yields the events of ``method`` and makes each in a thread."""

    @wraps(method)
    async def call(engine: Engine, /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> AsyncGenerator[Event]:
        token = CancellationToken()

        def begin() -> EventRun[Event]:
            run = method(engine, *args, **kwargs)
            token.on_cancel(run.close)
            return run

        try:
            run = await asyncio.to_thread(begin)
            while (event := await asyncio.to_thread(next, run, None)) is not None:
                yield event
        finally:
            token.cancel()  # if the run is only being made, it is closed once it is made

    return call


class Engine:
    """Answers questions over one generation of one index. Safe to share between threads.

    Without a ``reranker``, records are ranked by words. Without a ``model``, answers are extractive. With a ``cache``,
    identical questions are answered once; engines can share a cache. ``min_confidence`` applies to requests that set
    none.

    Attributes:
        open_index: The index, with its ``name`` and its ``manifest``.
        digest: The SHA-256 of the manifest.
        cache: The cache of answers, or None.
        resources: The index, the re-ranker and the model, as strategies get them.
    """

    def __init__(
        self,
        index: OpenIndex,
        model: LanguageModel | None = None,
        reranker: Reranker | None = None,
        cache: AnswerCache | None = None,
        min_confidence: float | None = None,
    ) -> None:
        check_min_confidence(min_confidence)
        self.open_index = index
        self.name = index.name
        self.manifest = index.manifest
        self.digest = manifest_digest(index.manifest)
        self.cache = cache
        self.resources = Resources(index, reranker or open_lexical_reranker(index), model)
        self._min_confidence = min_confidence
        self._prompts = prompts_fingerprint()

    @property
    def model(self) -> LanguageModel | None:
        """The language model; None if answers are extractive."""
        return self.resources.model

    @property
    def reranker_problem(self) -> str:
        """Why the vectors of the index cannot help to rank its records; empty if nothing is wrong."""
        reranker = self.resources.reranker
        return reranker.problem if isinstance(reranker, WordsAlone) else ""

    def search(
        self,
        question: str,
        *,
        k: int = DEFAULT_K,
        strategy: str = DEFAULT_STRATEGY,
        every_record: bool = False,
        keyword_order: KeywordOrder | None = None,
        settings: SearchSettings = PRODUCT,
        choices: Sequence[str] = (),
        record_filter: RecordFilter = EVERY_RECORD,
        facets: bool = False,
        history: Sequence[Turn] = (),
        offset: int = 0,
        cancellation: CancellationToken | None = None,
    ) -> SearchResult:
        """Find records for a question.

        Args:
            question: The question, in Korean or English.
            k: Maximum number of records.
            strategy: A strategy's name, or the stages of a pipeline.
            every_record: Whether duplicate records of one paper are ranked separately.
            keyword_order: How the keywords are ranked; overrides the settings.
            settings: Search settings, for experiments.
            choices: Answers to choose one from.
            record_filter: The records that may be found.
            facets: Whether to count all hits by year, language, journal, type and author.
            history: The turns before a follow-up question, the oldest first.
            offset: The ranks to skip, for a further page: the rank of the last record of the page before. No page goes
                beyond rank 1,000 or beyond ten times ``k``.
            cancellation: Ends the search when it is cancelled.

        Raises:
            ClientDisconnected: ``cancellation`` was cancelled.
            QuestionError: The question, ``k``, ``offset`` or the choices are not valid.
            SettingRejected: ``settings`` changes a setting that the strategy does not use.
            UnknownStrategy: There is no such strategy.
            StrategyUnavailable: The index or the installation lacks what the strategy needs.
            IndexDamaged: The check of the index's files, which can run while the index is in use, found damage.
        """
        request = parse_request(
            question, answered=False, k=k, strategy=strategy, every_record=every_record,
            keyword_order=keyword_order, settings=settings, choices=choices, record_filter=record_filter,
            facets=facets, history=history, offset=offset,
        )  # fmt: skip
        events = self._take_all(request, cancellation)
        return search_result(self.name, self.manifest.generation, request, events)

    def ask(
        self,
        question: str,
        *,
        k: int = DEFAULT_K,
        strategy: str = DEFAULT_STRATEGY,
        every_record: bool = False,
        keyword_order: KeywordOrder | None = None,
        settings: SearchSettings = PRODUCT,
        choices: Sequence[str] = (),
        min_confidence: float | None = None,
        record_filter: RecordFilter = EVERY_RECORD,
        facets: bool = False,
        history: Sequence[Turn] = (),
        cancellation: CancellationToken | None = None,
    ) -> AskResult:
        """Search as :meth:`search` does, and answer from the best records; with ``choices``, the answer is one of them.

        The answer is a refusal if the confidence that a record answers is below ``min_confidence``. None means the
        engine's ``min_confidence``.

        Raises the errors of :meth:`search`.
        """
        request = parse_request(
            question, answered=True, k=k, strategy=strategy, every_record=every_record,
            keyword_order=keyword_order, settings=settings, choices=choices, min_confidence=min_confidence,
            record_filter=record_filter, facets=facets, history=history,
        )  # fmt: skip
        events = self._take_all(request, cancellation)
        return ask_result(self.name, self.manifest.generation, request, events)

    asearch = _in_thread(search)
    """Search without blocking the event loop; cancelling the task cancels the search."""

    aask = _in_thread(ask)
    """Ask without blocking the event loop; cancelling the task cancels the answer, down to the language model."""

    def events(
        self,
        question: str,
        *,
        k: int = DEFAULT_K,
        strategy: str = DEFAULT_STRATEGY,
        keyword_order: KeywordOrder | None = None,
        settings: SearchSettings = PRODUCT,
        choices: Sequence[str] = (),
        min_confidence: float | None = None,
        record_filter: RecordFilter = EVERY_RECORD,
        facets: bool = False,
        history: Sequence[Turn] = (),
    ) -> EventRun[Event]:
        """Begin a run and return it; it makes each event of :meth:`ask` when the event is taken."""
        request = parse_request(
            question, answered=True, k=k, strategy=strategy, keyword_order=keyword_order, settings=settings,
            choices=choices, min_confidence=min_confidence, record_filter=record_filter, facets=facets,
            history=history,
        )  # fmt: skip
        run = self.run(request)
        run.start()
        return run

    aevents = _taken_in_threads(events)
    """Yield the events of :meth:`aask` as they are made; closing the generator ends the work."""

    def run(self, request: Request) -> EventRun[Event]:
        """Return the run of a request without waiting: a cached answer, one that others share, or a new one.

        Raises:
            UnknownStrategy: There is no such strategy.
            IndexDamaged: See :meth:`search`.
        """
        if self.open_index.checksums.state == "damaged":
            self.open_index.checksums.raise_if_damaged()
        if request.answered and request.min_confidence is None:
            request = request._replace(min_confidence=self._min_confidence)
        strategy = STRATEGIES.get(request.strategy) or find_strategy(request.strategy)
        resources = self.resources if request.settings.glossary else self.resources.without_glossary()
        searcher = FilteredSearcher(resources.index.searcher, request.record_filter)
        if request.record_filter or request.facets:
            resources = replace(resources, index=resources.index.filtered(searcher, request.record_filter))
        cancel = _nothing
        if resources.model is not None:
            request_model = RequestModel(resources.model)
            resources, cancel = replace(resources, model=request_model), request_model.cancel
        begin = partial(self._begin, strategy, request, resources, searcher)
        if self.cache is None:
            return EventRun(SingleFlight(begin, cancel))
        model = self.resources.model
        name = ""
        if model is not None:
            name = model.known_name if isinstance(model, CircuitBreaker | EndpointPool) else model.name
        if model is not None and not name:
            return self._run_named(self.cache, request, model, begin, cancel)
        return self._run_cached(self.cache, request, name, begin, cancel)

    @cached_property
    def lacking(self) -> Mapping[str, Requirement | None]:
        """What each strategy needs and does not have, by its name; None for a strategy that can be used."""
        request = parse_request("?", answered=False, k=1)
        lacking: dict[str, Requirement | None] = {}
        for name, strategy in STRATEGIES.items():
            try:
                strategy.run(request, self.resources).close()
            except StrategyUnavailable as error:
                lacking[name] = error.lacks
            else:
                lacking[name] = None
        return lacking

    @property
    def strategies(self) -> tuple[str, ...]:
        """The names of the strategies that can be used."""
        return tuple(name for name, lack in self.lacking.items() if lack is None)

    def document(self, docid: str) -> Record | None:
        """Return the record of ``docid``, or None if the index does not have it."""
        self.open_index.checksums.raise_if_damaged()
        with self.reading():
            (found,) = self.open_index.store.fetch([docid])
        return found.record if found else None

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Report damage of the index that the ``with`` block finds, so that later questions are refused.

        Raises:
            IndexDamaged: The index could not be read.
        """
        try:
            yield
        except (IndexDamaged, sqlite3.DatabaseError) as error:
            damage = (
                error
                if isinstance(error, IndexDamaged)
                else IndexDamaged(Text("Index {name}: {error}.", name=self.name, error=error))
            )
            self.open_index.checksums.report(damage)
            raise damage from error

    def close(self) -> None:
        """Close the index's files."""
        self.open_index.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take_all(self, request: Request, cancellation: CancellationToken | None) -> Sequence[Event]:
        run = self.run(request)
        if cancellation is not None:
            cancellation.on_cancel(run.close)
        return run.take_all()

    def _begin(
        self, strategy: Strategy, request: Request, resources: Resources, searcher: FilteredSearcher
    ) -> Generator[Event, None, None]:
        with self.reading():
            strategy.run(request, resources).close()  # raises if the strategy cannot be used
            named = _find_named(request, resources.index)
        if request.history and named.items is None:
            events = _read_in_context(strategy, request, resources, searcher, named)
        else:
            events = _search(strategy, request, resources, searcher, named)
        return self._events(leave_out_earlier_pages(events, request.offset) if request.offset else events)

    def _events(self, events: Generator[Event, None, None]) -> Generator[Event, None, None]:
        with self.reading():
            yield from events

    def _run_cached(
        self, cache: AnswerCache, request: Request, model: str, begin: _Begin, cancel: Callable[[], None]
    ) -> EventRun[Event]:
        key = AnswerKey(
            index=self.name,
            generation=self.manifest.generation,
            manifest=self.digest,
            prompts=self._prompts,
            model=model,
            reranker=self.resources.reranker.name,
            settings=cache.settings,
            request=request,
        )
        # Damaged files could give wrong answers: an answer is cached only if all files are verified.
        return cache.run(key, self, begin, cancel, lambda: self.open_index.checksums.state == "verified")

    def _run_named(
        self, cache: AnswerCache, request: Request, model: LanguageModel, begin: _Begin, cancel: Callable[[], None]
    ) -> EventRun[Event]:
        """Return the run with a model whose name is not known yet.

        The cache key contains the name, and the request for it may take time. So the thread that takes the first event
        makes that request.
        """
        token = CancellationToken()

        def begin_named() -> EventRun[Event]:
            run = self._run_cached(cache, request, model.name, begin, cancel)
            token.on_cancel(run.close)
            run.start()
            return run

        return EventRun(SingleFlight(begin_named, token.cancel))


def open_engine(
    indexes: Path,
    name: str,
    first_question: str | None = None,
    verify: Verify = "changed",
    *,
    model: LanguageModel | None = None,
    reranker: str = AUTO,
    min_score: float | None = None,
    min_confidence: float | None = None,
    cache: AnswerCache | None = None,
    generation: int | None = None,
    engine: EngineChoice = LUCENE,
) -> Engine:
    """Open the index ``name`` as an engine.

    ``min_score`` is the threshold of :func:`~shrag.serving.retrieval.rerankers.open_reranker`. ``min_confidence``
    applies to requests that set none. The other arguments and the errors are those of that function and of
    :func:`~shrag.indexing.open_index.open_index`.
    """
    check_reranker(reranker, min_score)
    index = open_index(indexes, name, first_question, verify, generation, engine)
    try:
        ranker = open_reranker(reranker, index, weights_folder(indexes), min_score)
        return Engine(index, model, ranker, cache, min_confidence)
    except BaseException:
        index.close()
        raise


class _Named(NamedTuple):
    """The authors that a question names, and the records to show instead of a search; None where it names none."""

    authors: NamedAuthors | None
    items: KnownItems | None


def _find_named(request: Request, index: OpenIndex) -> _Named:
    authors = find_named_authors(request.question.text, request.record_filter, index)
    return _Named(authors, find_known_items(request, index, authors))


def _search(
    strategy: Strategy, request: Request, resources: Resources, searcher: FilteredSearcher, named: _Named
) -> Generator[Event, None, None]:
    """Return the events of a question, whose text says all that is asked."""
    if named.items is not None:
        return show_known_items(request, named.items, resources)
    if named.authors is not None and not request.question.choices:
        events = search_with_authors(strategy, request, resources, named.authors)
    else:
        events = strategy.run(request, resources)
    return searcher.add_facets(events) if request.facets else events


def _read_in_context(
    strategy: Strategy, request: Request, resources: Resources, searcher: FilteredSearcher, named: _Named
) -> Generator[Event, None, None]:
    """Yield how a follow-up question is read, then the events of the question as it is read.

    ``named`` is what the question names as it is asked.
    """
    follow_up, events = read_follow_up(request.question, request.history, resources.index, resources.model)
    yield from events
    if follow_up is not None:
        yield follow_up
        text, added = follow_up.question, " ".join(follow_up.added)
        asked = len(text.removesuffix(added)) if added else None
        request = request._replace(question=replace(request.question, text=text, asked=asked))
        named = _find_named(request, resources.index)
    yield from _search(strategy, request, resources, searcher, named)


def _nothing() -> None:
    """Do nothing: without a model there is nothing to cancel."""
