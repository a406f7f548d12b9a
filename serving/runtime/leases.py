"""Leases on engines, which count references: a replaced engine is closed when its last lease is released."""

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
"""Maximum seconds to wait until an idle engine is closed."""


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """Status of an index that is served. Generations are given by their numbers.

    Attributes:
        generation: The generation that answers new questions.
        closing: Earlier generations with requests that have not ended.
        problem: Why the index's current generation does not answer; empty if it does.
        swaps: How often the engine was replaced since the start.
    """

    generation: int
    closing: tuple[int, ...]
    problem: str
    swaps: int


class EngineSource(ABC):
    """Gives leases on the engine of one index. Thread-safe.

    Args:
        name: The name of the index.
        engine: The first engine, which a subclass may replace later.
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
        """The generations that answer, and the problem of the current one if it does not answer."""

    @abstractmethod
    def close(self) -> None:
        """Give no more leases, and close each engine when its last lease is released."""


class FixedEngine(EngineSource):
    """One engine that is never replaced."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.name, engine)

    @property
    def status(self) -> SourceStatus:
        """See :class:`EngineSource`."""
        return SourceStatus(self._serving.generation, (), "", 0)

    def close(self) -> None:
        """Give no more leases. If the engine is idle, wait at most two seconds until it is closed."""
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
        """Give no more leases. Close the engine now if it is idle, else when its last lease is released."""
        with self._lock:
            self._closing = True
            self._close_if_unused()

    def wait_closed(self, seconds: float) -> bool:
        """Wait at most ``seconds`` until the engine is closed, and return whether it is closed."""
        return self._closed.wait(seconds)

    def release(self) -> None:
        """Count one lease less. Only :class:`Lease` calls this."""
        with self._lock:
            self._leases -= 1
            self._close_if_unused()

    def _close_if_unused(self) -> None:
        if not self._closing or self._leases or self._engine is None:
            return
        engines, self._engine = [self._engine], None
        # Another thread closes it: closing is slow, and the thread that released the last lease has a response to send.
        # ``_close`` empties the list, so that the arguments of the thread do not keep the engine alive.
        threading.Thread(target=self._close, args=(engines,), name=f"close-{self.generation}").start()

    def _close(self, engines: list[Engine]) -> None:
        try:
            engines.pop().close()
            detach_thread()
            # The engine has reference cycles. Without a collection, Kiwi and the mapped vectors would stay in memory.
            trim_malloc()
        finally:
            self._closed.set()


class Lease:
    """Keeps an engine open until the lease is released, explicitly or by ``with``. Any thread may release it.

    Attributes:
        engine: The engine.
        name: The name of the index.
        generation: The number of the index's generation.
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
        """Release the lease."""
        self.release()

    def run(self, request: Request) -> EventRun[Event]:
        """Return the engine's run of ``request``. The lease is released when the run ends, or if it cannot be made.

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
    """Collect garbage, and return free pages of the heap to the system by glibc's ``malloc_trim``, if it exists."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # other C libraries have none
    if trim is not None:
        trim(0)
