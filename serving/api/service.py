"""What routes call: admission, cache, metrics around the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from fastapi import Request

from shrag.models.chat.circuit_breaker import CircuitBreaker
from shrag.serving.answer_cache import KeptAnswer
from shrag.serving.api.encoding import encode_ask, encode_kept_ask, encode_kept_search, encode_search
from shrag.serving.api.schemas import AskRequest, Generation, IndexEntry, QuestionRequest
from shrag.serving.concurrency import Asking, Withdrawal
from shrag.serving.engine import Engine
from shrag.serving.errors import NotServed
from shrag.serving.events import Event
from shrag.serving.http.tracing import note
from shrag.serving.results import AskResult, SearchResult
from shrag.serving.runtime.admission import Limits, Places
from shrag.serving.runtime.deadline import Patience
from shrag.serving.runtime.event_feed import Answering, Begun
from shrag.serving.runtime.leases import EngineSource

_Event = TypeVar("_Event")

_CLOSING_SECONDS = 1.0


class Service(Places):
    """The index served and the places of its questions. ``log_questions`` lets the log have the words of questions."""

    def __init__(self, index: EngineSource, limits: Limits, *, log_questions: bool) -> None:
        super().__init__(limits)
        self.index = index
        with index.use() as engine:  # every generation has the same
            self.model = engine.model
            self.cache = engine.cache
        self._log_questions = log_questions

    @property
    def circuit(self) -> CircuitBreaker | None:
        """The circuit before the language model, where there is one."""
        return self.model if isinstance(self.model, CircuitBreaker) else None

    @property
    def generation(self) -> Generation:
        """Who writes the answers."""
        if self.model is None:
            return "extractive"
        return "degraded" if self.circuit is not None and self.circuit.state == "open" else "ready"

    async def search(self, body: QuestionRequest, request: Request) -> bytes:
        """Return the response to a search: at once where it is kept, else in its turn."""
        self._note(body)
        kept = self._kept(body, answered=False)
        if kept is not None:
            self.saw(kept.timings)
            return encode_kept_search(kept)

        def work() -> SearchResult:
            with self.index.use() as engine:
                return engine.search(
                    body.question, k=body.k, strategy=body.strategy, keyword_order=body.keyword_order,
                    choices=body.choices,
                )  # fmt: skip

        result = await self.run(self.searches, work, request.is_disconnected)
        self._saw(result)
        return encode_search(result)

    async def ask(self, body: AskRequest, request: Request) -> bytes:
        """Return the response that answers a question, likewise; a client that leaves stops the work on it."""
        self._note(body)
        kept = self._kept(body, answered=True)
        if kept is not None:
            for event in kept.counted:
                self.saw(event)
            return encode_kept_ask(kept, body.format)
        withdrawal = Withdrawal()

        def work() -> AskResult:
            with self.index.use() as engine:
                return engine.ask(
                    body.question, k=body.k, strategy=body.strategy, keyword_order=body.keyword_order,
                    choices=body.choices, begun=withdrawal.begun,
                )  # fmt: skip

        result = await self.run(self.asks, work, request.is_disconnected, withdrawal.withdraw)
        self.metrics.saw(result.answer)
        self._saw(result.search)
        return encode_ask(result, body.format)

    async def events(self, body: AskRequest, patience: Patience) -> Answering[Event]:
        """Return an answer to be streamed, once it is its turn where it is not kept; the caller leaves it."""
        self._note(body)
        kept = self._kept(body, answered=True)
        if kept is not None:
            return Answering(kept.asking(), kept.key.generation, None)
        return await self.begin(
            lambda engine: engine.events(
                body.question, k=body.k, strategy=body.strategy, keyword_order=body.keyword_order, choices=body.choices
            ),
            lambda asking, _: asking,
            patience,
        )

    async def begin(
        self,
        ask: Callable[[Engine], Asking],
        shown: Callable[[Asking, Engine], Begun[_Event]],
        patience: Patience,
    ) -> Answering[_Event]:
        """Return what ``shown`` makes of what is asked, once it is its turn; the caller leaves it.

        Raises as ``ask`` does, and as :meth:`Gate.enter`.
        """

        def work() -> tuple[Begun[_Event], int]:
            lease = self.index.use()
            engine = lease.engine
            asking = lease.asking(ask)
            try:
                return shown(asking, engine), engine.manifest.generation
            except BaseException:
                asking.close()
                raise

        await self.enter(patience)
        # In a thread: a model may have to be asked for its name, an encoder to be loaded.
        beginning = asyncio.get_running_loop().run_in_executor(self.asks.workers, work)
        try:
            await patience.wait(beginning)
            asking, generation = beginning.result()
        except BaseException:
            beginning.add_done_callback(_let_go)
            self.asks.leave()
            raise
        note(generation=generation)
        return Answering(asking, generation, self.asks)

    async def enter(self, patience: Patience) -> None:
        """Take a place for an answer; whoever took one calls ``asks.leave``. Raises as :meth:`Gate.enter` does."""
        try:
            self.refuse_when_draining()
            await self.asks.enter(patience)
        except NotServed as error:
            self.metrics.rejected(error.code)
            raise

    def saw(self, event: Event) -> None:
        """Count an event of a stream."""
        self.metrics.saw(event)
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
        """Return the figures as they are now."""
        with self.index.use() as engine:
            self.metrics.index(engine.name, engine.manifest.generation, engine.digest)
        self.metrics.standing(self.index.standing)
        if self.cache is not None:
            self.metrics.cache(self.cache.counters)
        self.metrics.model(self.generation == "ready")
        return super().scrape()

    async def close(self) -> None:
        """Take no more work and close the index; an engine that a thread still works with is closed behind that."""
        self.close_gates()
        waiting = ThreadPoolExecutor(max_workers=1, thread_name_prefix="closing")
        idle = asyncio.get_running_loop().run_in_executor(waiting, self._join)
        await asyncio.wait([idle], timeout=_CLOSING_SECONDS)
        waiting.shutdown(wait=False)
        self.index.close()

    def _join(self) -> None:
        for gate in (self.searches, self.asks):
            gate.workers.shutdown(wait=True)

    def _kept(self, body: QuestionRequest, *, answered: bool) -> KeptAnswer | None:
        """Return the answer where it is kept: it needs no place, so that a full server still gives it.

        Raises where the question cannot be asked.
        """
        self.refuse_when_draining()
        with self.index.use() as engine:
            note(generation=engine.manifest.generation)
            return engine.kept(
                body.question,
                answered=answered,
                k=body.k,
                strategy=body.strategy,
                keyword_order=body.keyword_order,
                choices=body.choices,
            )

    def _note(self, body: QuestionRequest) -> None:
        note(strategy=body.strategy, index=self.index.name)
        if self._log_questions:
            note(question=body.question)

    def _saw(self, result: SearchResult) -> None:
        self.metrics.saw(result.timings)
        for fallback in result.fallbacks:
            self.metrics.saw(fallback)
        note(stages=result.timings.seconds, generation=result.generation)


def _let_go(beginning: asyncio.Future[tuple[Begun[Any], int]]) -> None:
    """Close what begins too late."""
    if not beginning.cancelled() and beginning.exception() is None:
        beginning.result()[0].close()
