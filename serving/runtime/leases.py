"""EngineSource, reference-counted engines, memory release."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from shrag.indexing.lexical.jvm import detach_thread
from shrag.serving.concurrency import Asking, one_by_one
from shrag.serving.engine import Engine
from shrag.serving.errors import IndexClosed

_ARENA_MAX = -8
"""mallopt(3)."""

_ARENAS = 2


def share_free_memory() -> None:
    """Let threads take memory from the same few places; for a server, before it has threads.

    glibc lets each have one of its own, up to eight a processor: what one thread frees another cannot use, and a
    process of some forty grows for as long as it takes each of them to meet its largest answer.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_ARENA_MAX, _ARENAS)


def give_back_memory() -> None:
    """Collect garbage, and let go of the pages that nothing is left on.

    glibc keeps what was freed below anything still in use: what a closed index took would stay with the process. Other
    C libraries have no such call, nor the one above; nothing is done there.
    """
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


class LeasedEngine:
    """An engine and the leases on it. Safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        self.generation = engine.manifest.generation
        self._engine: Engine | None = engine
        self._turn = threading.Lock()
        self._leases = 0
        self._retired = False
        self._closed = threading.Event()

    @property
    def closed(self) -> bool:
        """Whether its files are let go of."""
        return self._closed.is_set()

    @property
    def in_use(self) -> bool:
        """Whether there is a lease on it."""
        with self._turn:
            return self._leases > 0

    def lease(self) -> Lease | None:
        """Return a lease, None where the engine is retired."""
        with self._turn:
            if self._retired or self._engine is None:
                return None
            self._leases += 1
            return Lease(self, self._engine)

    def retire(self) -> None:
        """Give no more leases, and close the engine when there are none: now, or when the last is released."""
        with self._turn:
            self._retired = True
            self._close_if_unused()

    def wait_closed(self, seconds: float) -> bool:
        """Wait for it to be closed, at most ``seconds``; return whether it is."""
        return self._closed.wait(seconds)

    def release(self) -> None:
        """Count a lease back; for :class:`Lease`."""
        with self._turn:
            self._leases -= 1
            self._close_if_unused()

    def _close_if_unused(self) -> None:
        if not self._retired or self._leases or self._engine is None:
            return
        engines, self._engine = [self._engine], None
        # In a thread of its own: whoever released it last has an answer to send.
        threading.Thread(target=self._close, args=(engines,), name=f"close-{self.generation}").start()

    def _close(self, engines: list[Engine]) -> None:
        try:
            engines.pop().close()
            detach_thread()
            # Its parts know each other: Kiwi and memory-mapped vectors would else stay until the collector comes by.
            give_back_memory()
        finally:
            self._closed.set()


class Lease:
    """An engine that stays open until this is released, as ``with`` does: from any thread, once or more often."""

    def __init__(self, leased: LeasedEngine, engine: Engine) -> None:
        self.engine = engine
        self._leased: LeasedEngine | None = leased
        self._turn = threading.Lock()

    def __enter__(self) -> Engine:
        """Return the engine."""
        return self.engine

    def __exit__(self, *_: object) -> None:
        """Release it."""
        self.release()

    def asking(self, begin: Callable[[Engine], Asking]) -> Asking:
        """Return what ``begin`` asks of the engine; this is released when the events end or are closed.

        Raises as ``begin`` does, and is released then too.
        """
        try:
            asking = begin(self.engine)
        except BaseException:
            self.release()
            raise

        def ended() -> None:
            asking.close()
            self.release()

        return Asking(one_by_one(asking), asking, ended, cached=asking.cached)

    def release(self) -> None:
        """Say that the engine is not used any more."""
        with self._turn:
            leased, self._leased = self._leased, None
        if leased is not None:
            leased.release()


_STOP_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Standing:
    """What is served and what is not.

    ``generation`` is what new questions go to, ``closing`` are those before it that still have questions to answer.
    ``problem`` says why what is published is not what is served, empty where it is. ``swaps`` counts the generations
    taken up since the start.
    """

    generation: int
    closing: tuple[int, ...]
    problem: str
    swaps: int


class EngineSource(Protocol):
    """Gives the engine that a question is asked of. Safe to share between threads."""

    @property
    def name(self) -> str:
        """The index's name."""

    @property
    def standing(self) -> Standing:
        """What is served and what is not."""

    def use(self) -> Lease:
        """Return a lease on the engine: ``with source.use() as engine:`` keeps it open, and the same, to the end.

        Raises :class:`IndexClosed`.
        """

    def close(self) -> None:
        """Give no more leases; every engine is closed when its last one is released."""


class FixedEngine:
    """Implements :class:`EngineSource` over one engine, whatever is published; closes it."""

    def __init__(self, engine: Engine) -> None:
        self._name = engine.name
        self._leased = LeasedEngine(engine)

    @property
    def name(self) -> str:
        """See :class:`EngineSource`."""
        return self._name

    @property
    def standing(self) -> Standing:
        """See :class:`EngineSource`."""
        return Standing(self._leased.generation, (), "", 0)

    def use(self) -> Lease:
        """See :class:`EngineSource`."""
        lease = self._leased.lease()
        if lease is None:
            raise IndexClosed(f"Index {self._name} is closed: the server is stopping.")
        return lease

    def close(self) -> None:
        """See :class:`EngineSource`; an engine that nobody uses is waited for."""
        self._leased.retire()
        if not self._leased.in_use:
            self._leased.wait_closed(_STOP_SECONDS)
