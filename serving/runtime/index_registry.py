"""Registry of the indexes that the MCP server serves. Each is opened on first use."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from shrag.corpora.files import check_name
from shrag.indexing.errors import IndexingError
from shrag.indexing.storage.checksums import Verify
from shrag.indexing.storage.generations import current_generation
from shrag.indexing.storage.manifest import IndexManifest
from shrag.serving.engine import Engine
from shrag.serving.errors import ShuttingDown, UnknownIndex
from shrag.serving.runtime.hot_reload import CurrentIndex
from shrag.serving.runtime.leases import Lease
from shrag.serving.strategies.registry import STRATEGIES

OpenNamed = Callable[[str, Verify, int | None], Engine]
"""Opens a generation of the index of that name, or the current one for None. Its files are verified to that degree."""


@dataclass(frozen=True, slots=True)
class ServedIndex:
    """An index and the generation that answers, 0 for none.

    ``problem`` says why the published generation does not answer; empty where it does.
    """

    name: str
    generation: int
    records: int
    created: str
    encoder: str
    problem: str


class ServedIndexes:
    """The indexes ``names`` in the folder ``indexes``; the first is the default. Safe to share between threads.

    The constructor raises :class:`~shrag.indexing.errors.IndexMissing` or a related error if an index has no readable
    manifest.
    """

    def __init__(self, indexes: Path, names: Sequence[str], open_named: OpenNamed, verify: Verify = "full") -> None:
        if not names:
            raise ValueError("names is empty: name an index.")
        self._folders = {name: indexes / check_name(name) for name in names}
        for folder in self._folders.values():
            current_generation(folder)
        self._open_named = open_named
        self._verify = verify
        self._opening = {name: threading.Lock() for name in names}
        self._open: dict[str, CurrentIndex] = {}
        self._closed = threading.Event()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the indexes, the default first."""
        return tuple(self._folders)

    def use(self, name: str = "") -> Lease:
        """Return a lease on the engine of ``name``, as :meth:`CurrentIndex.use` does.

        Raises :class:`UnknownIndex`; :class:`ShuttingDown` after :meth:`close`; and, if the index is opened now, what
        :func:`~shrag.serving.engine.open_engine` raises.
        """
        return self.current(name).use()

    def current(self, name: str = "") -> CurrentIndex:
        """Open the index of that name if it is not open yet, and return it; raises as :meth:`use` does."""
        name = name or self.names[0]
        if name not in self._folders:
            raise UnknownIndex(name, self.names)
        with self._opening[name]:
            if name not in self._open:
                if self._closed.is_set():
                    raise ShuttingDown
                current = CurrentIndex(self._folders[name], partial(self._open_named, name), self._verify)
                current.watch()
                self._open[name] = current
                if self._closed.is_set():  # `close` may have run before this index was in `_open`
                    current.close()
            return self._open[name]

    def strategies(self) -> tuple[str, ...]:
        """Open the default index, and return the strategies of all open indexes together.

        Raises as :meth:`use` does.
        """
        self.current()
        there: set[str] = set()
        for current in list(self._open.values()):
            with current.use() as engine:
                there.update(engine.strategies)
        return tuple(name for name in STRATEGIES if name in there)

    def describe(self) -> tuple[ServedIndex, ...]:
        """Return a description of each index. No index is opened for it."""
        return tuple(self._describe(name) for name in self._folders)

    def close(self) -> None:
        """Close all indexes, and open no more. An index that is just being opened is closed once it is open."""
        self._closed.set()
        for current in list(self._open.values()):
            current.close()

    def _describe(self, name: str) -> ServedIndex:
        current = self._open.get(name)
        if current is not None:
            with current.use() as engine:
                return _entry(name, engine.manifest, current.status.problem)
        try:
            return _entry(name, current_generation(self._folders[name])[1], "")
        except IndexingError as error:
            return ServedIndex(name, 0, 0, "", "", str(error))


def _entry(name: str, manifest: IndexManifest, problem: str) -> ServedIndex:
    encoder = manifest.vectors.encoder if manifest.vectors is not None else ""
    return ServedIndex(name, manifest.generation, manifest.records, manifest.created, encoder, problem)
