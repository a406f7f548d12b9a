"""Hot reload: switch a running server to a new generation of its index.

Each build of an index makes a numbered generation, and the file ``CURRENT`` names the one to use. A new generation is
opened and verified while the old one answers. Then the new one answers new questions, and the old one is closed when
its last lease is released. A generation that cannot be opened is not used; it is tried again after a minute.

If the generation that answers is found to be damaged, the current generation is opened again. If that fails too, the
newest intact generation answers.
"""

from __future__ import annotations

import logging
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
from shrag.indexing.storage.generations import (
    check_files,
    generation_folder,
    list_generations,
    read_current,
    recovery_hint,
)
from shrag.messages.text import Text
from shrag.models.errors import ModelError
from shrag.serving.engine import Engine
from shrag.serving.errors import ServingError
from shrag.serving.runtime.background import BACKGROUND
from shrag.serving.runtime.leases import CLOSE_TIMEOUT, EngineSource, LeasedEngine, SourceStatus

_log = logging.getLogger("shrag.serving.hot_reload")

OpenEngine = Callable[[Verify, int | None], Engine]
"""Opens a generation of an index, or the current one for None. The first argument says how to verify its checksums."""

POLL_SECONDS = 1.0
"""Seconds between two checks for a new generation."""

_RETRY_SECONDS = 60.0

# A made-up word that no token store has. Analyzing it loads Kiwi before the first question needs it.
_UNKNOWN_WORD = "색인교체준비완료여부"


class CurrentIndex(EngineSource):
    """The engine of one index's current generation.

    The constructor opens the first generation and raises what ``open_engine`` raises. All files of later generations
    are verified before those answer.

    Args:
        folder: The index's folder.
        open_engine: Opens a generation of the index.
        verify: How to verify the checksums of the first generation.
    """

    def __init__(self, folder: Path, open_engine: OpenEngine, verify: Verify = "full") -> None:
        self._folder = folder
        self._open_engine = open_engine
        self._refreshing = threading.Lock()
        self._closed = threading.Event()
        self._watcher: threading.Thread | None = None
        engine, self._pointer = self._open(verify)
        super().__init__(folder.name, engine)
        # ``_lock`` guards these, and also ``_serving``.
        self._closing: list[LeasedEngine] = []
        self._swaps = 0
        self._problem = ""
        # ``_refreshing`` guards these: the generation that could not be opened, and when to try again.
        self._refused: tuple[_Pointer, float] | None = None
        self._recover_at = 0.0

    @property
    def status(self) -> SourceStatus:
        """See :class:`~shrag.serving.runtime.leases.EngineSource`."""
        with self._lock:
            closing = tuple(each.generation for each in self._closing if not each.closed)
            return SourceStatus(self._serving.generation, closing, self._problem, self._swaps)

    def refresh(self) -> bool:
        """Load the current generation if it differs from the one that answers, or if that one is damaged.

        Errors are not raised but reported by :attr:`status`, and the old generation goes on answering. A generation
        that could not be opened is tried again after a minute.

        Returns:
            Whether the engine was replaced.
        """
        with self._refreshing:
            if self._closed.is_set():
                return False
            pointer = self._read_current()
            if damage := self._find_damage():
                return self._recover(pointer, damage)
            if pointer is None or self._was_refused(pointer):
                return False
            if pointer == self._pointer:
                self._set_problem("")
                return False
            try:
                engine, pointer = self._open_and_check()
            except Exception as error:
                self._refused = (pointer, time.monotonic() + _RETRY_SECONDS)
                self._set_problem(_problem_text(error))
                return False
            return self._swap(engine, pointer)

    def watch(self, seconds: float = POLL_SECONDS) -> None:
        """Call :meth:`refresh` every ``seconds`` in a daemon thread until :meth:`close`. Call this once."""
        name = f"current-{self._folder.name}"
        self._watcher = threading.Thread(target=self._poll, args=(seconds,), name=name, daemon=True)
        self._watcher.start()

    def close(self) -> None:
        """Give no more leases; close each engine when its last lease is released.

        This waits at most two seconds for each idle engine. An engine that is just being opened is closed once it is
        open.
        """
        with self._lock:
            self._closed.set()
        if self._watcher is not None:  # wait for its check for damage, which has a lease on the engine
            self._watcher.join(CLOSE_TIMEOUT)
        with self._lock:
            self._serving.close_when_idle()
            unused = [each for each in (self._serving, *self._closing) if not each.in_use]
        for each in unused:
            each.wait_closed(CLOSE_TIMEOUT)

    def _poll(self, seconds: float) -> None:
        while not self._closed.wait(seconds):
            with BACKGROUND.watch(f"hot reload of {self.name}"):
                self.refresh()

    def _read_current(self) -> _Pointer | None:
        try:
            return read_current(self._folder)
        except IndexingError as error:
            self._set_problem(str(error))
            return None

    def _find_damage(self) -> str:
        """Return what is wrong with the files of the generation that answers; empty if nothing is known."""
        with self.use() as engine:
            checksums, folder = engine.open_index.checksums, generation_folder(self._folder, engine.manifest.generation)
            try:
                check_files(folder, checksums.manifest, contents=False)
            except IndexDamaged as damage:
                if folder.exists():  # a removed generation is not damaged: its open files stay readable
                    checksums.report(damage)
            try:
                checksums.raise_if_damaged()
            except IndexDamaged as damage:
                return str(damage)
        return ""

    def _recover(self, pointer: _Pointer | None, damage: str) -> bool:
        """Replace the engine, whose files are damaged, by the first generation that can be opened.

        The current generation is tried first, since the fault may have ended; then the others, the newest first.
        """
        if time.monotonic() < self._recover_at:
            return False
        current = pointer[0] if pointer is not None else 0
        for number in sorted(list_generations(self._folder), key=lambda number: (number != current, -number)):
            try:
                engine, found = self._open_and_check(number)
            except Exception as error:
                _log.warning("generation refused", extra={"fields": {"generation": number, "reason": str(error)}})
                continue
            swapped = self._swap(engine, found)
            if number != current:
                problem = f"Generation {current} is damaged, so generation {number} answers. {damage}"
                self._refused = (pointer, time.monotonic() + _RETRY_SECONDS) if pointer is not None else None
                self._set_problem(problem)
                _log.error("index damaged", extra={"fields": {"problem": problem}})
            return swapped
        self._recover_at = time.monotonic() + _RETRY_SECONDS
        self._set_problem(damage)
        _log.error("index damaged", extra={"fields": {"problem": damage}})
        return False

    def _was_refused(self, pointer: _Pointer) -> bool:
        return self._refused is not None and self._refused[0] == pointer and time.monotonic() < self._refused[1]

    def _open(self, verify: Verify, number: int | None = None) -> tuple[Engine, _Pointer]:
        if number is not None:
            engine = self._open_engine(verify, number)
            return engine, (number, engine.digest)
        while True:
            pointer = read_current(self._folder)
            engine = self._open_engine(verify, None)
            if engine.manifest.generation == pointer[0]:
                return engine, pointer
            engine.close()  # another generation was published in between

    def _open_and_check(self, number: int | None = None) -> tuple[Engine, _Pointer]:
        """Open a generation, verify its golden queries and load what the first question will need."""
        engine, pointer = self._open("full", number)
        try:
            _check_golden(generation_folder(self._folder, pointer[0]), engine)
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

    def _set_problem(self, problem: str) -> None:
        with self._lock:
            self._problem = problem


_Pointer = tuple[int, str]
"""The number of a generation and the SHA-256 of its manifest, as in ``CURRENT``."""


def _check_golden(folder: Path, engine: Engine) -> None:
    for query, difference in verify_golden_queries(folder / GOLDEN, engine.open_index.searcher):
        if difference:
            raise IndexDamaged(
                Text(
                    "{folder} {difference}, by the query {query!r}: {recovery_hint}.",
                    folder=folder,
                    difference=difference,
                    query=query,
                    recovery_hint=recovery_hint(folder.parent),
                )
            )


def _problem_text(error: Exception) -> str:
    is_explained = isinstance(error, IndexingError | CorpusError | DiskFull | ModelError | ServingError)
    return (
        str(error) if is_explained else f"The published generation cannot be opened ({type(error).__name__}: {error})."
    )
