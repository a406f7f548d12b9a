"""What all routes share: the engine, the places in which it works, the figures, and whether the server is going."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from fastapi import Request

from shrag.indexing.manifest import manifest_digest
from shrag.models.circuit import CircuitModel
from shrag.serving.admission import Gate
from shrag.serving.asking import Asking
from shrag.serving.engine import AskResult, Engine, SearchResult
from shrag.serving.errors import NotServed, Stopping
from shrag.serving.events import Event
from shrag.serving.limits import Limits
from shrag.serving.metrics import Metrics
from shrag.serving.patience import Patience
from shrag.serving.tracing import note
from shrag.serving.wire import AskRequest, Generation, IndexEntry, QuestionRequest

_Done = TypeVar("_Done")

_CLOSING_SECONDS = 1.0


class Service:
    """The parts of a running application. ``log_questions`` lets the log have the words of questions."""

    def __init__(self, engine: Engine, limits: Limits, *, log_questions: bool) -> None:
        self.engine = engine
        self.limits = limits
        self.metrics = Metrics()
        self.searches = Gate("search", limits.searches, limits.queued_searches)
        self.asks = Gate("ask", limits.asks, limits.queued_asks)
        self.draining = False
        self.ended = False
        self._log_questions = log_questions

    @property
    def in_flight(self) -> int:
        """Requests that are worked on or wait to be."""
        return sum(gate.busy + gate.queued for gate in (self.searches, self.asks))

    @property
    def circuit(self) -> CircuitModel | None:
        """The circuit before the language model, where there is one."""
        return self.engine.model if isinstance(self.engine.model, CircuitModel) else None

    @property
    def generation(self) -> Generation:
        """Who writes the answers."""
        if self.engine.model is None:
            return "extractive"
        return "degraded" if self.circuit is not None and self.circuit.state == "open" else "ready"

    def drain(self) -> None:
        """Say from now on that the server is going; what was begun goes on. From any thread, also a signal's."""
        self.draining = True

    def end(self) -> None:
        """Give up what still runs: each such request is told so."""
        self.ended = True

    def patience(self, request: Request) -> Patience:
        """Return how long ``request``, which has just come, is waited for."""
        seconds = self.limits.deadline
        until = asyncio.get_running_loop().time() + seconds
        return Patience(until, seconds, lambda: self.ended, request.is_disconnected)

    async def search(self, body: QuestionRequest, request: Request) -> SearchResult:
        """Return what a search finds, in its turn."""
        self._note(body.question, body.strategy)

        def work() -> SearchResult:
            return self.engine.search(body.question, k=body.k, strategy=body.strategy, keyword_order=body.keyword_order)

        result = await self.run(self.searches, work, request)
        self._saw(result)
        return result

    async def ask(self, body: AskRequest, request: Request) -> AskResult:
        """Return an answer, in its turn; a client that leaves stops the work on it."""
        self._note(body.question, body.strategy)
        begun: list[Asking] = []

        def work() -> AskResult:
            return self.engine.ask(
                body.question, k=body.k, strategy=body.strategy, keyword_order=body.keyword_order, begun=begun.append
            )

        def give_up() -> None:
            for asking in begun:
                asking.cancel()

        result = await self.run(self.asks, work, request, give_up)
        self.metrics.saw(result.answer)
        self._saw(result.search)
        return result

    async def events(self, body: AskRequest, patience: Patience) -> Asking:
        """Return the events of an answer once it is its turn; whoever took them calls ``asks.leave`` at their end."""
        self._note(body.question, body.strategy)
        asking = self.engine.events(body.question, k=body.k, strategy=body.strategy, keyword_order=body.keyword_order)
        await self.enter(patience)
        return asking

    async def enter(self, patience: Patience) -> None:
        """Take a place for an answer; whoever took one calls ``asks.leave``. Raises as :meth:`Gate.enter` does."""
        try:
            self._refuse_when_draining()
            await self.asks.enter(patience)
        except NotServed as error:
            self.metrics.rejected(error.code)
            raise

    async def run(
        self, gate: Gate, work: Callable[[], _Done], request: Request, give_up: Callable[[], None] | None = None
    ) -> _Done:
        """Run ``work`` in its turn, for as long as ``request`` may take."""
        try:
            self._refuse_when_draining()
            return await gate.run(work, self.patience(request), give_up)
        except NotServed as error:
            self.metrics.rejected(error.code)
            raise

    def saw(self, event: Event) -> None:
        """Count an event of a stream."""
        self.metrics.saw(event)
        if event.event == "timings":
            note(stages=event.seconds)

    def index_entry(self) -> IndexEntry:
        """Return what is said of the index served."""
        manifest = self.engine.manifest
        return IndexEntry(
            self.engine.name,
            manifest.generation,
            manifest.records,
            manifest.created,
            manifest_digest(manifest),
            self.engine.strategies,
        )

    def scrape(self) -> bytes:
        """Return the figures as they are now."""
        for gate in (self.searches, self.asks):
            self.metrics.work(gate.stage, gate.queued, gate.busy)
        manifest = self.engine.manifest
        self.metrics.index(self.engine.name, manifest.generation, manifest_digest(manifest))
        self.metrics.model(self.generation == "ready")
        return self.metrics.text()

    async def close(self) -> None:
        """Take no more work and close the engine, unless a thread still works with it."""
        for gate in (self.searches, self.asks):
            gate.close()
        waiting = ThreadPoolExecutor(max_workers=1, thread_name_prefix="closing")
        idle = asyncio.get_running_loop().run_in_executor(waiting, self._join)
        done, _ = await asyncio.wait([idle], timeout=_CLOSING_SECONDS)
        waiting.shutdown(wait=False)
        if done:
            self.engine.close()

    def _join(self) -> None:
        for gate in (self.searches, self.asks):
            gate.workers.shutdown(wait=True)

    def _refuse_when_draining(self) -> None:
        if self.draining:
            raise Stopping("The server is being stopped: ask again once it is back.", retry_after=5)

    def _note(self, question: str, strategy: str) -> None:
        note(strategy=strategy, index=self.engine.name, generation=self.engine.manifest.generation)
        if self._log_questions:
            note(question=question)

    def _saw(self, result: SearchResult) -> None:
        self.metrics.saw(result.timings)
        for fallback in result.fallbacks:
            self.metrics.saw(fallback)
        note(stages=result.timings.seconds)
