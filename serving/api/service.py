"""What routes call: admission, cached answers, log fields and metrics around the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import TypeVar

from fastapi import Request as HttpRequest

from shrag.models.chat.circuit_breaker import CircuitModel
from shrag.serving.answer_cache import CachedAnswer
from shrag.serving.api.encoding import encode_ask, encode_cached_ask, encode_cached_search, encode_search
from shrag.serving.api.schemas import AskRequest, Generation, IndexEntry, QuestionRequest
from shrag.serving.concurrency import EventRun
from shrag.serving.engine import Engine
from shrag.serving.errors import NotServed
from shrag.serving.events import Event
from shrag.serving.http.tracing import note
from shrag.serving.results import SearchResult
from shrag.serving.runtime.admission import AdmissionControl, AdmissionQueue, ServerLimits
from shrag.serving.runtime.deadline import Deadline
from shrag.serving.runtime.event_feed import EventFeed, open_feed
from shrag.serving.runtime.leases import EngineSource
from shrag.serving.strategy import Request, parse_request

_Event = TypeVar("_Event")
_Done = TypeVar("_Done")

_CLOSING_SECONDS = 1.0


class Service(AdmissionControl):
    """The index served, and admission to it. ``log_questions`` lets the log have the words of questions."""

    def __init__(self, index: EngineSource, limits: ServerLimits, *, log_questions: bool) -> None:
        super().__init__(limits)
        self.index = index
        with index.use() as engine:  # every generation has the same
            self.model = engine.model
            self.cache = engine.cache
        self._log_questions = log_questions

    @property
    def circuit(self) -> CircuitModel | None:
        """The circuit breaker before the language model, where there is one."""
        return self.model if isinstance(self.model, CircuitModel) else None

    @property
    def generation(self) -> Generation:
        """Who writes the answers."""
        if self.model is None:
            return "extractive"
        return "degraded" if self.circuit is not None and self.circuit.state == "open" else "ready"

    def parse(self, body: QuestionRequest, *, answered: bool) -> Request:
        """Return the request of a body; raises :class:`QuestionError`."""
        note(strategy=body.strategy, index=self.index.name)
        if self._log_questions:
            note(question=body.question)
        return parse_request(
            body.question, answered=answered, k=body.k, strategy=body.strategy, keyword_order=body.keyword_order,
            choices=body.choices,
        )  # fmt: skip

    async def search(self, body: QuestionRequest, http: HttpRequest) -> bytes:
        """Return the response to a search: at once where it is cached, else in its turn."""
        request = self.parse(body, answered=False)
        engine, run = self._run(request)
        if isinstance(run, CachedAnswer):
            with closing(run):
                self.observe(run.timings)
                return encode_cached_search(run)
        work = partial(engine.complete_search, request, run)
        result = await self._complete(self.searches, run, work, http)
        self._observe_search(result)
        return encode_search(result)

    async def ask(self, body: AskRequest, http: HttpRequest) -> bytes:
        """Return the response that answers a question, likewise; the work stops where the client leaves."""
        request = self.parse(body, answered=True)
        engine, run = self._run(request)
        if isinstance(run, CachedAnswer):
            with closing(run):
                for event in run.observed:
                    self.observe(event)
                return encode_cached_ask(run, body.format)
        work = partial(engine.complete_ask, request, run)
        result = await self._complete(self.asks, run, work, http)
        self.metrics.observe(result.answer)
        self._observe_search(result.search)
        return encode_ask(result, body.format)

    async def events(self, request: Request, deadline: Deadline) -> EventFeed[Event]:
        """Return an answer to be streamed, once it is its turn where it is not cached; the caller leaves it.

        Raises as :meth:`Engine.run`, :meth:`AdmissionQueue.enter` and the strategy do.
        """
        engine, run = self._run(request)
        queue = self.asks if not run.cached else None
        return await self._feed(run, engine.manifest.generation, queue, deadline)

    async def page_events(
        self, request: Request, show: Callable[[EventRun[Event], Engine], EventRun[_Event]], deadline: Deadline
    ) -> EventFeed[_Event]:
        """Return what ``show`` makes of an answer, likewise; a cached one waits for its turn too, to be rendered."""
        engine, run = self._run(request)
        return await self._feed(show(run, engine), engine.manifest.generation, self.asks, deadline)

    def observe(self, event: Event) -> None:
        """Count an event of a stream."""
        self.metrics.observe(event)
        if event.event == "timings":
            note(stages=event.seconds)
            if event.cached:
                note(cached=True)

    def index_entry(self) -> IndexEntry:
        """Return what is said of the index served."""
        with self.index.use() as engine:
            manifest = engine.manifest
            return IndexEntry(
                engine.name, manifest.generation, manifest.records, manifest.created, engine.digest, engine.strategies
            )

    def scrape(self) -> bytes:
        """Return the metrics as they are now."""
        with self.index.use() as engine:
            self.metrics.index(engine.name, engine.manifest.generation, engine.digest)
        self.metrics.status(self.index.status)
        if self.cache is not None:
            self.metrics.cache(self.cache.counters)
        self.metrics.model(self.generation == "ready")
        return super().scrape()

    async def close(self) -> None:
        """Take no more work and close the index; an engine that a thread still works with is closed behind that."""
        self.close_queues()
        waiting = ThreadPoolExecutor(max_workers=1, thread_name_prefix="closing")
        idle = asyncio.get_running_loop().run_in_executor(waiting, self._join)
        await asyncio.wait([idle], timeout=_CLOSING_SECONDS)
        waiting.shutdown(wait=False)
        self.index.close()

    def _join(self) -> None:
        for queue in (self.searches, self.asks):
            queue.workers.shutdown(wait=True)

    def _run(self, request: Request) -> tuple[Engine, EventRun[Event]]:
        """Return the run of a request and its engine, which stays open until the run ends.

        A cached answer needs no slot, so that a full server still gives it. Another run begins in its turn.
        """
        self.refuse_when_draining()
        lease = self.index.use()
        note(generation=lease.engine.manifest.generation)
        return lease.engine, lease.run(request)

    async def _complete(
        self, queue: AdmissionQueue, run: EventRun[Event], work: Callable[[], _Done], http: HttpRequest
    ) -> _Done:
        """Return what ``work`` returns, which takes the events of ``run``, in its turn; else the run is closed."""
        try:
            return await self.run(queue, work, http.is_disconnected)
        except BaseException:
            run.close()
            raise

    async def _feed(
        self, run: EventRun[_Event], generation: int, queue: AdmissionQueue | None, deadline: Deadline
    ) -> EventFeed[_Event]:
        try:
            return await open_feed(run, generation, queue, deadline)
        except NotServed as error:
            self.metrics.rejected(error.code)
            raise

    def _observe_search(self, result: SearchResult) -> None:
        self.metrics.observe(result.timings)
        for fallback in result.fallbacks:
            self.metrics.observe(fallback)
        note(stages=result.timings.seconds)
