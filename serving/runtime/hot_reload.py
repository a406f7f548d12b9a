"""Follow the current index generation while serving.

A new generation is opened and verified while the old one answers; then it answers new questions, and the old one is
closed after its last question. A generation that cannot be opened is refused, and the old one stays.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from shrag.corpora.errors import CorpusError
from shrag.corpora.files import DiskFull
from shrag.indexing.errors import IndexDamaged, IndexingError
from shrag.indexing.maintenance.golden_queries import FILE as GOLDEN
from shrag.indexing.maintenance.golden_queries import verify_golden_queries
from shrag.indexing.storage.checksums import Verify
from shrag.indexing.storage.generations import generation_folder, read_current, recovery_hint
from shrag.models.errors import ModelError
from shrag.serving.engine import Engine
from shrag.serving.errors import ServingError
from shrag.serving.runtime.leases import EngineSource, LeasedEngine, SourceStatus

OpenEngine = Callable[[Verify], Engine]
"""Opens the current generation, with its files verified to that degree."""

LOOK_SECONDS = 1.0
"""Seconds between two checks for a new generation."""

_TRY_AGAIN_SECONDS = 60.0
_STOP_SECONDS = 2.0

# In no token store: analyzing it loads Kiwi before the first question needs it.
_UNKNOWN_WORD = "색인교체준비완료여부"


class CurrentIndex(EngineSource):
    """The engine of one index's current generation.

    ``index`` is the index's folder. The first generation is opened at once and verified as ``verify`` says; raises as
    ``open_engine`` does. Later ones are verified fully before they answer.
    """

    def __init__(self, index: Path, open_engine: OpenEngine, verify: Verify = "full") -> None:
        self._index = index
        self._open_engine = open_engine
        self._refreshing = threading.Lock()
        self._closed = threading.Event()
        self._watcher: threading.Thread | None = None
        engine, self._pointer = self._open(verify)
        super().__init__(index.name, engine)
        # Changed together with the served engine, under the lock.
        self._closing: list[LeasedEngine] = []
        self._swaps = 0
        self._problem = ""
        self._refused: tuple[_Pointer, float] | None = None

    @property
    def status(self) -> SourceStatus:
        """See :class:`~shrag.serving.runtime.leases.EngineSource`."""
        with self._lock:
            closing = tuple(each.generation for each in self._closing if not each.closed)
            return SourceStatus(self._serving.generation, closing, self._problem, self._swaps)

    def refresh(self) -> bool:
        """Load the published generation if it is another one; return whether it was loaded.

        Errors are not raised but reported by :attr:`status`. A refused generation is tried again after a minute.
        """
        with self._refreshing:
            try:
                pointer = read_current(self._index)
            except IndexingError as error:
                self._tell(str(error))
                return False
            if pointer == self._pointer:
                self._tell("")
                return False
            if self._closed.is_set() or self._was_refused(pointer):
                return False
            try:
                engine, pointer = self._open_ready()
            except Exception as error:
                # Whatever the error is, the old generation goes on answering.
                self._refused = (pointer, time.monotonic() + _TRY_AGAIN_SECONDS)
                self._tell(_sentence(error))
                return False
            return self._swap(engine, pointer)

    def watch(self, seconds: float = LOOK_SECONDS) -> None:
        """Refresh every so many seconds, in a background thread, until it is closed."""
        name = f"current-{self._index.name}"
        self._watcher = threading.Thread(target=self._look, args=(seconds,), name=name, daemon=True)
        self._watcher.start()

    def close(self) -> None:
        """Give no more leases; close each engine when its last lease is released.

        Waits for idle engines to be closed. An engine that is being opened meanwhile is closed as soon as it is open.
        """
        with self._lock:
            self._closed.set()
            self._serving.close_when_idle()
            unused = [each for each in (self._serving, *self._closing) if not each.in_use]
        for each in unused:
            each.wait_closed(_STOP_SECONDS)
        if self._watcher is not None:
            self._watcher.join(_STOP_SECONDS)

    def _look(self, seconds: float) -> None:
        while not self._closed.wait(seconds):
            self.refresh()

    def _was_refused(self, pointer: _Pointer) -> bool:
        return self._refused is not None and self._refused[0] == pointer and time.monotonic() < self._refused[1]

    def _open(self, verify: Verify) -> tuple[Engine, _Pointer]:
        while True:
            pointer = read_current(self._index)
            engine = self._open_engine(verify)
            if engine.manifest.generation == pointer[0]:
                return engine, pointer
            engine.close()  # another was published in between

    def _open_ready(self) -> tuple[Engine, _Pointer]:
        """Open the published generation, verify its golden queries and load what the first question will need."""
        engine, pointer = self._open("full")
        try:
            _check_golden(generation_folder(self._index, pointer[0]), engine)
            engine.open_index.analyzer.terms([_UNKNOWN_WORD])
        except BaseException:
            engine.close()
            raise
        return engine, pointer

    def _swap(self, engine: Engine, pointer: _Pointer) -> bool:
        new = LeasedEngine(engine)
        with self._lock:
            if self._closed.is_set():
                new.close_when_idle()
                return False
            self._closing = [each for each in self._closing if not each.closed] + [self._serving]
            self._serving.close_when_idle()
            self._serving, self._pointer = new, pointer
            self._swaps += 1
            self._problem = ""
            self._refused = None
            return True

    def _tell(self, problem: str) -> None:
        with self._lock:
            self._problem = problem


_Pointer = tuple[int, str]
"""A generation's number and its manifest's SHA-256, as ``CURRENT`` has them."""


def _check_golden(folder: Path, engine: Engine) -> None:
    for query, wrong in verify_golden_queries(folder / GOLDEN, engine.open_index.searcher):
        if wrong:
            raise IndexDamaged(f"{folder} {wrong}, by the query {query!r}: {recovery_hint(folder.parent)}.")


def _sentence(error: Exception) -> str:
    told = isinstance(error, IndexingError | CorpusError | DiskFull | ModelError | ServingError)
    return str(error) if told else f"The published generation cannot be opened ({type(error).__name__}: {error})."
