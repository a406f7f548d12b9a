"""An engine that is closed when it is not wanted any more and the last one who uses it is done."""

from __future__ import annotations

import threading
from collections.abc import Callable

from shrag.indexing.jvm import detach_thread
from shrag.serving.asking import Asking, one_by_one
from shrag.serving.engine import Engine
from shrag.serving.unused_memory import give_back_memory


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
