"""A process with Kiwi that the builds of one test process share: loading Kiwi takes most of a small build.

Each build has workers of its own, which are forks of this process. Builds with a user's words start a process of their
own, as do tests of the pool itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from shrag.indexing.analysis.morphological_analysis import load_kiwi
from shrag.indexing.analysis.user_dictionary import EMPTY_DICTIONARY, load_dictionary
from shrag.indexing.build import worker, worker_pool
from shrag.models.fork_server import Connection, ForkServer, serve


class _NoSetup(msgspec.Struct):
    pass


class _Lent(ForkServer):
    """The shared process as one pool sees it: the pool's workers end with the pool, but not the process."""

    def __init__(self, shared: ForkServer, setup: worker.WorkerSetup) -> None:
        super().__init__((), setup)
        self._shared, self._worker_setup = shared, setup

    def start(self) -> None:
        self._shared.start()

    def connect(self) -> Connection:
        if self._closed:
            raise EOFError
        connection = self._shared.connect()
        self._connections.add(connection)
        connection.send(self._worker_setup)
        return connection

    def release(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._shared.release(connection)

    def has_ended(self) -> bool:
        return self._shared.has_ended()

    def failure(self) -> tuple[int | None, str]:
        return self._shared.failure()


@contextmanager
def one_process() -> Iterator[None]:
    """Let the pools of this process share one process with Kiwi."""
    shared = ForkServer((sys.executable, "-P", __file__), _NoSetup())
    command = worker_pool.COMMAND

    def lend(asked: Sequence[str], setup: worker.WorkerSetup) -> ForkServer:
        folder = Path(setup.dictionary)
        # The shared process has the working folder of the test that started it.
        alike = asked == command and folder.is_absolute() and load_dictionary(folder) == EMPTY_DICTIONARY
        return _Lent(shared, setup) if alike else ForkServer(asked, setup)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_pool, "ForkServer", lend)
        yield
    shared.close()


def _load(_: bytes) -> Callable[[Connection], None]:
    kiwi = load_kiwi()

    def handle(connection: Connection) -> None:
        setup = msgspec.msgpack.decode(connection.receive(), type=worker.WorkerSetup)
        worker._Worker(connection, kiwi, EMPTY_DICTIONARY, setup).run()

    return handle


if __name__ == "__main__":
    serve(_load)
