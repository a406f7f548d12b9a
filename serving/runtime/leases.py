"""Leases on engines (reference counting): a replaced engine is closed when its last lease is released."""

from __future__ import annotations

import ctypes
import gc
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass

from shrag.indexing.lexical.jvm import detach_thread
from shrag.messages.text import Text
from shrag.serving.engine import Engine
from shrag.serving.errors import IndexClosed
from shrag.serving.event_run import EventRun
from shrag.serving.events import Event
from shrag.serving.request import Request

CLOSE_TIMEOUT = 2.0
"""Seconds to wait at most for an idle engine to be closed."""


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """Status of an index that is served, by the numbers of its generations.

    Attributes:
        generation: The generation that answers new questions.
        closing: Earlier generations with requests that have not ended.
        problem: Why the current generation of the index is not the one that answers; empty where it is.
        swaps: How often the engine was replaced since the start.
    """

    generation: int
    closing: tuple[int, ...]
    problem: str
    swaps: int


class EngineSource(ABC):
    """Gives leases on the engine of one index. Thread-safe.

    Args:
        name: The index.
        engine: Its first engine, which a subclass may replace later.
    """

    def __init__(self, name: str, engine: Engine) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._serving = LeasedEngine(engine)

    def use(self) -> Lease:
        """Return a lease on the engine, to be used as ``with source.use() as engine:``.

        Raises:
            IndexClosed: The server is stopping.
        """
        with self._lock:
            return self._serving.lease()

    @property
    @abstractmethod
    def status(self) -> SourceStatus:
        """The generations that answer, and why it is not the current one."""

    @abstractmethod
    def close(self) -> None:
        """Give no more leases; each engine is closed when its last lease is released."""


class FixedEngine(EngineSource):
    """One engine that is never replaced."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.name, engine)

    @property
    def status(self) -> SourceStatus:
        """See :class:`EngineSource`."""
        return SourceStatus(self._serving.generation, (), "", 0)

    def close(self) -> None:
        """Give no more leases. Waits for the engine to be closed if it is not in use, at most two seconds."""
        self._serving.close_when_idle()
        if not self._serving.in_use:
            self._serving.wait_closed(CLOSE_TIMEOUT)


class LeasedEngine:
    """A reference-counted engine. Thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self.generation = engine.manifest.generation
        self._name = engine.name
        self._engine: Engine | None = engine
        self._lock = threading.Lock()
        self._leases = 0
        self._closing = False
        self._closed = threading.Event()

    @property
    def closed(self) -> bool:
        """Whether the engine is closed."""
        return self._closed.is_set()

    @property
    def in_use(self) -> bool:
        """Whether there is a lease on the engine."""
        with self._lock:
            return self._leases > 0

    def lease(self) -> Lease:
        """Return a lease; raises :class:`IndexClosed` after :meth:`close_when_idle`."""
        with self._lock:
            if self._closing or self._engine is None:
                raise IndexClosed(Text("Index {name} is closed: the server is stopping.", name=self._name))
            self._leases += 1
            return Lease(self, self._engine)

    def close_when_idle(self) -> None:
        """Give no more leases; close the engine now if it is not in use, else when its last lease is released."""
        with self._lock:
            self._closing = True
            self._close_if_unused()

    def wait_closed(self, seconds: float) -> bool:
        """Wait at most ``seconds`` until the engine is closed; return whether it is."""
        return self._closed.wait(seconds)

    def release(self) -> None:
        """Count one lease less; only :class:`Lease` calls this."""
        with self._lock:
            self._leases -= 1
            self._close_if_unused()

    def _close_if_unused(self) -> None:
        if not self._closing or self._leases or self._engine is None:
            return
        engines, self._engine = [self._engine], None
        # In another thread, since closing is slow and the thread that released the last lease has a response to send.
        # ``_close`` empties the list, so that the thread's arguments do not keep the engine alive.
        threading.Thread(target=self._close, args=(engines,), name=f"close-{self.generation}").start()

    def _close(self, engines: list[Engine]) -> None:
        try:
            engines.pop().close()
            detach_thread()
            # The engine has reference cycles: without a collection Kiwi and the memory-mapped vectors stay.
            trim_malloc()
        finally:
            self._closed.set()


class Lease:
    """Keeps an engine open until it is released, explicitly or by ``with``, from any thread.

    Attributes:
        engine: The engine.
        name: The index.
        generation: Number of its index's generation.
    """

    def __init__(self, owner: LeasedEngine, engine: Engine) -> None:
        self.engine = engine
        self.name = engine.name
        self.generation = owner.generation
        self._owner: LeasedEngine | None = owner
        self._lock = threading.Lock()

    def __enter__(self) -> Engine:
        """Return the engine."""
        return self.engine

    def __exit__(self, *_: object) -> None:
        """Release it."""
        self.release()

    def run(self, request: Request) -> EventRun[Event]:
        """Return the engine's run of ``request``; the lease is released when it ends or cannot start.

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
            owner, self._owner = self._owner, None
        if owner is not None:
            owner.release()


def trim_malloc() -> None:
    """Collect garbage and return free pages of the heap to the system (``malloc_trim`` of glibc; nothing elsewhere)."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # other C libraries have none
    if trim is not None:
        trim(0)
