"""Leases on engines: a replaced engine is closed when its last lease is released."""

from __future__ import annotations

import ctypes
import gc
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass

from shrag.indexing.lexical.jvm import detach_thread
from shrag.serving.engine import Engine
from shrag.serving.errors import IndexClosed
from shrag.serving.event_run import EventRun
from shrag.serving.events import Event
from shrag.serving.request import Request

_STOP_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """Which generations of an index are served.

    Attributes:
        generation: The one that answers new questions.
        closing: Earlier ones that still answer questions.
        problem: Why the published generation is not the one served; empty where it is.
        swaps: How many generations were loaded since the start.
    """

    generation: int
    closing: tuple[int, ...]
    problem: str
    swaps: int


class EngineSource(ABC):
    """Gives leases on the engine of the index ``name``. Safe to share between threads.

    A subclass may replace the engine.
    """

    def __init__(self, name: str, engine: Engine) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._serving = LeasedEngine(engine)

    def use(self) -> Lease:
        """Return a lease on the engine: ``with source.use() as engine:`` keeps it open to the end of the block.

        Raises:
            IndexClosed: The server is stopping.
        """
        with self._lock:
            return self._serving.lease()

    @property
    @abstractmethod
    def status(self) -> SourceStatus:
        """Which generations are served."""

    @abstractmethod
    def close(self) -> None:
        """Give no more leases; every engine is closed when its last one is released."""


class FixedEngine(EngineSource):
    """One engine that is never replaced."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.name, engine)

    @property
    def status(self) -> SourceStatus:
        """See :class:`EngineSource`."""
        return SourceStatus(self._serving.generation, (), "", 0)

    def close(self) -> None:
        """See :class:`EngineSource`; an engine that is not in use is waited for."""
        self._serving.close_when_idle()
        if not self._serving.in_use:
            self._serving.wait_closed(_STOP_SECONDS)


class LeasedEngine:
    """An engine and the leases on it. Safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        self.generation = engine.manifest.generation
        self._name = engine.name
        self._engine: Engine | None = engine
        self._lock = threading.Lock()
        self._leases = 0
        self._retired = False
        self._closed = threading.Event()

    @property
    def closed(self) -> bool:
        """Whether its files are closed."""
        return self._closed.is_set()

    @property
    def in_use(self) -> bool:
        """Whether there is a lease on it."""
        with self._lock:
            return self._leases > 0

    def lease(self) -> Lease:
        """Return a lease; raises :class:`IndexClosed` where the engine is retired."""
        with self._lock:
            if self._retired or self._engine is None:
                raise IndexClosed(f"Index {self._name} is closed: the server is stopping.")
            self._leases += 1
            return Lease(self, self._engine)

    def close_when_idle(self) -> None:
        """Give no more leases, and close the engine when there are none: now, or when the last is released."""
        with self._lock:
            self._retired = True
            self._close_if_unused()

    def wait_closed(self, seconds: float) -> bool:
        """Wait at most ``seconds`` for it to be closed; return whether it is."""
        return self._closed.wait(seconds)

    def release(self) -> None:
        """Release a lease; for :class:`Lease`."""
        with self._lock:
            self._leases -= 1
            self._close_if_unused()

    def _close_if_unused(self) -> None:
        if not self._retired or self._leases or self._engine is None:
            return
        engines, self._engine = [self._engine], None
        # In another thread: the one that released the last lease has an answer to send.
        threading.Thread(target=self._close, args=(engines,), name=f"close-{self.generation}").start()

    def _close(self, engines: list[Engine]) -> None:
        try:
            engines.pop().close()
            detach_thread()
            # Its parts refer to each other: without a collection Kiwi and memory-mapped vectors would stay.
            trim_malloc()
        finally:
            self._closed.set()


class Lease:
    """Keeps an engine open until it is released, explicitly or by ``with``, from any thread."""

    def __init__(self, leased: LeasedEngine, engine: Engine) -> None:
        self.engine = engine
        self.generation = leased.generation
        self._leased: LeasedEngine | None = leased
        self._lock = threading.Lock()

    def __enter__(self) -> Engine:
        """Return the engine."""
        return self.engine

    def __exit__(self, *_: object) -> None:
        """Release it."""
        self.release()

    def run(self, request: Request) -> EventRun[Event]:
        """Return the engine's run of ``request``; the lease is released when it ends or cannot be made.

        Raises as :meth:`~shrag.serving.engine.Engine.run` does.
        """
        try:
            run = self.engine.run(request)
        except BaseException:
            self.release()
            raise
        run.on_end(self.release)
        return run

    def release(self) -> None:
        """Release the lease; further calls do nothing."""
        with self._lock:
            leased, self._leased = self._leased, None
        if leased is not None:
            leased.release()


def trim_malloc() -> None:
    """Collect garbage and return free pages to the system, which glibc does not do below memory that is in use."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # other C libraries have none
    if trim is not None:
        trim(0)
