"""Service layer of the HTTP server: admission, cached answers, log fields and metrics around the engines.

The handlers of the JSON API, of OpenAI's API and of the page all go through :class:`Service`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

from starlette.requests import Request as HttpRequest

from shrag.corpora.records import Record
from shrag.messages.text import Text
from shrag.models.chat.circuit_breaker import CircuitBreaker
from shrag.models.chat.endpoint_pool import EndpointPool, EndpointStatus
from shrag.serving.answer_cache import CachedAnswer
from shrag.serving.api.encoding import encode_ask, encode_cached_ask, encode_cached_search, encode_search
from shrag.serving.api.schemas import AskRequest, GeneratorStatus, IndexEntry, QuestionRequest, SearchRequest
from shrag.serving.engine import Engine
from shrag.serving.errors import DocumentMissing, ServiceUnavailable, UnknownIndex
from shrag.serving.event_run import EventRun
from shrag.serving.events import Event, KeywordOrder
from shrag.serving.http.logging import add_log_fields
from shrag.serving.request import Request, Turn, parse_request
from shrag.serving.results import ask_result, search_result
from shrag.serving.runtime.admission import AdmissionControl, AdmissionQueue, Deadline, ServerLimits
from shrag.serving.runtime.event_feed import EventFeed, open_feed
from shrag.serving.runtime.leases import EngineSource, Lease
from shrag.serving.search_settings import SearchSettings

_Event = TypeVar("_Event")
_Result = TypeVar("_Result")

_CLOSING_SECONDS = 1.0


class Service(AdmissionControl):
    """The served indexes, and the admission to them. With ``log_questions``, the log contains the text of questions.

    The first of ``indexes`` answers requests that name none. All have the same language model and cache.
    """

    def __init__(self, indexes: Sequence[EngineSource], limits: ServerLimits, *, log_questions: bool) -> None:
        super().__init__(limits)
        self._sources = {source.name: source for source in indexes}
        with indexes[0].use() as engine:  # all engines of a server share the model and the cache
            self.model = engine.model
            self.cache = engine.cache
        self._log_questions = log_questions

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the indexes, the default first."""
        return tuple(self._sources)

    @property
    def sources(self) -> tuple[EngineSource, ...]:
        """The indexes, the default first."""
        return tuple(self._sources.values())

    def source(self, name: str = "") -> EngineSource:
        """Return the index of that name, or the default index for an empty name; raises :class:`UnknownIndex`."""
        name = name or self.names[0]
        if name not in self._sources:
            raise UnknownIndex(name, self.names)
        return self._sources[name]

    @property
    def circuit(self) -> CircuitBreaker | EndpointPool | None:
        """The circuit breaker or the pool of endpoints that protects a failing language model; None without one."""
        return self.model if isinstance(self.model, CircuitBreaker | EndpointPool) else None

    @property
    def endpoints(self) -> tuple[EndpointStatus, ...]:
        """The endpoints of the language model if it has several; else none."""
        return self.model.statuses if isinstance(self.model, EndpointPool) else ()

    @property
    def generator_status(self) -> GeneratorStatus:
        """What writes the answers."""
        if self.model is None:
            return "extractive"
        return "degraded" if self.circuit is not None and self.circuit.state == "open" else "ready"

    async def search(self, body: SearchRequest, http: HttpRequest) -> bytes:
        """Return the response to a search: at once if it is cached, else when it is its turn."""
        lease, request, run = self.begin(body, answered=False)
        if isinstance(run, CachedAnswer):
            with closing(run):
                self.observe(run.timings)
                return encode_cached_search(run)
        events = await self.run(self.searches, run.take_all, http.is_disconnected, run.close)
        result = search_result(lease.name, lease.generation, request, events)
        self.metrics.observe(*result.fallbacks, result.timings)
        add_log_fields(stages=result.timings.seconds)
        return encode_search(result)

    async def ask(self, body: AskRequest, http: HttpRequest) -> bytes:
        """Return the response to a question, as :meth:`search` does. The work stops if the client leaves."""
        lease, request, run = self.begin(body, answered=True)
        if isinstance(run, CachedAnswer):
            with closing(run):
                for event in run.observed:
                    self.observe(event)
                return encode_cached_ask(run, body.format)
        events = await self.run(self.asks, run.take_all, http.is_disconnected, run.close)
        result = ask_result(lease.name, lease.generation, request, events)
        self.metrics.observe(result.answer, *result.search.fallbacks, result.search.timings)
        add_log_fields(stages=result.search.timings.seconds)
        return encode_ask(result, body.format)

    async def events(self, body: AskRequest, deadline: Deadline) -> tuple[Request, EventFeed[Event]]:
        """Return the parsed request and the feed of its answer, when it is the answer's turn or it is cached.

        The caller must call :meth:`EventFeed.leave`. Raises what :meth:`Engine.run`, :meth:`AdmissionQueue.enter` and
        the strategy raise.
        """
        lease, request, run = self.begin(body, answered=True)
        return request, await self._feed(run, lease.generation, self.asks if not run.cached else None, deadline)

    async def page_events(
        self,
        request: Request,
        show: Callable[[EventRun[Event], Engine], EventRun[_Event]],
        deadline: Deadline,
        index: str = "",
    ) -> EventFeed[_Event]:
        """Return the feed of what ``show`` makes of an answer, when it is its turn.

        A cached answer waits for its turn too, since it must be rendered. The events of the answer are counted, even
        those of which ``show`` makes nothing.
        """

        def counted(event: Event) -> tuple[Event]:
            self.metrics.observe(event)
            return (event,)

        lease = self.source(index).use()
        add_log_fields(generation=lease.generation)
        run = lease.run(request).map(counted)
        return await self._feed(show(run, lease.engine), lease.generation, self.asks, deadline)

    async def use_engine(
        self,
        work: Callable[[Engine], _Result],
        http: HttpRequest,
        queue: AdmissionQueue | None = None,
        cancel: Callable[[], None] = lambda: None,
        index: str = "",
    ) -> _Result:
        """Run ``work`` with the engine in ``queue`` (None: the queue of searches); return or raise what it does."""
        source = self.source(index)

        def with_engine() -> _Result:
            with source.use() as engine, engine.reading():
                return work(engine)

        return await self.run(queue or self.searches, with_engine, http.is_disconnected, cancel)

    def begin(self, body: QuestionRequest, *, answered: bool) -> tuple[Lease, Request, EventRun[Event]]:
        """Return the lease on an engine, the parsed request of a body, and its run. The run's end releases the lease.

        A cached answer needs no slot, so that even a full server returns it. Any other run begins in its turn.

        Raises:
            UnknownIndex: The body names an index that is not served.
            QuestionError: The question is not valid.
            SettingRejected: A setting is unknown, or cannot have that value.
            ShuttingDown: The index is closed.
            ServingError: See :meth:`Engine.run`.
        """
        source = self.source(body.index)
        add_log_fields(strategy=body.strategy, index=source.name)
        if self._log_questions:
            add_log_fields(question=body.question)
        min_confidence = body.min_confidence if isinstance(body, AskRequest) else None
        offset = body.offset if isinstance(body, SearchRequest) else 0
        request = parse_request(
            body.question, answered=answered, k=body.k, strategy=body.strategy, keyword_order=_keyword_order(body),
            settings=SearchSettings.from_mapping(body.settings), choices=body.choices, min_confidence=min_confidence,
            record_filter=body.filter.record_filter(), facets=body.facets,
            history=[Turn(turn.question, turn.answer) for turn in body.history], offset=offset,
        )  # fmt: skip
        lease = source.use()
        add_log_fields(generation=lease.generation)
        return lease, request, lease.run(request)

    def observe(self, event: Event) -> None:
        """Count an event of a stream, and log the timings."""
        self.metrics.observe(event)
        if event.event == "timings":
            add_log_fields(stages=event.seconds)
            if event.cached:
                add_log_fields(cached=True)

    def index_entries(self) -> tuple[IndexEntry, ...]:
        """Return a description of each served index."""
        return tuple(map(_index_entry, self.sources))

    def scrape(self) -> bytes:
        """Return the metrics as they are now."""
        infos = []
        for source in self.sources:
            with source.use() as engine:
                infos.append((engine.name, engine.manifest.generation, engine.digest, bool(engine.reranker_problem)))
        self.metrics.indexes(infos)
        self.metrics.status({source.name: source.status for source in self.sources})
        if self.cache is not None:
            self.metrics.cache(self.cache.counters)
        self.metrics.model(self.generator_status == "ready", self.endpoints)
        return super().scrape()

    async def close(self) -> None:
        """Take no more work, and close the indexes. An engine that a thread still uses is closed after that."""
        self.close_queues()
        waiting = ThreadPoolExecutor(max_workers=1, thread_name_prefix="closing")
        idle = asyncio.get_running_loop().run_in_executor(waiting, self._join)
        await asyncio.wait([idle], timeout=_CLOSING_SECONDS)
        waiting.shutdown(wait=False)
        for source in self.sources:
            source.close()

    def _join(self) -> None:
        for queue in (self.searches, self.asks):
            queue.workers.shutdown(wait=True)

    async def _feed(
        self, run: EventRun[_Event], generation: int, queue: AdmissionQueue | None, deadline: Deadline
    ) -> EventFeed[_Event]:
        try:
            return await open_feed(run, generation, queue, deadline)
        except ServiceUnavailable as error:
            self.metrics.rejected(error.code)
            raise


def _index_entry(source: EngineSource) -> IndexEntry:
    with source.use() as engine:
        manifest = engine.manifest
        return IndexEntry(
            engine.name, manifest.generation, manifest.records, manifest.created, engine.digest, engine.strategies
        )


def _keyword_order(body: QuestionRequest) -> KeywordOrder | None:
    """Return the body's order of keywords, or None if its settings name one."""
    return None if "keyword_order" in body.settings else body.keyword_order


def find_record(engine: Engine, docid: str) -> Record:
    """Return the record of ``docid``; raises :class:`DocumentMissing` if the index does not have it."""
    record = engine.document(docid)
    if record is None:
        raise DocumentMissing(
            Text(
                "Index {name} has no document {docid!r}: use a docid that search gave.",
                name=engine.name,
                docid=docid[:100],
            )
        )
    return record
