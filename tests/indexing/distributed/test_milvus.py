"""A Milvus that is away, slow, or comes back: Milvus Lite as a server of its own, over the wire."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import ClassVar
from unittest.mock import MagicMock

import pytest

from shrag.indexing.distributed.collection import Row, Some, Without, value_number
from shrag.indexing.distributed.milvus import MilvusDatabase, _expression
from shrag.indexing.distributed.searcher import filter_condition
from shrag.indexing.distributed.sparse_vectors import sparse_vector
from shrag.indexing.errors import DependencyMissing, EngineUnavailable, IndexingError
from shrag.indexing.record_filter import RecordFilter

TIMEOUT = 2.0


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Server:
    """Milvus Lite in a process, to be stopped and started."""

    def __init__(self, folder: Path, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self._folder = folder
        self._command = [
            sys.executable, "-m", "milvus_lite", "server", "--data-dir", str(folder), "--host", "127.0.0.1",
            "--port", str(port),
        ]  # fmt: skip
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        """Kill it once its files have stood still for a second: those that are cut short it cannot read again."""
        end = time.monotonic() + 30
        before: list[tuple[str, int]] = []
        while (now := self._sizes()) != before and time.monotonic() < end:
            before = now
            time.sleep(1)
        self.process.kill()
        self.process.wait()

    def _sizes(self) -> list[tuple[str, int]]:
        sizes = []
        for path in sorted(self._folder.rglob("*")):
            with suppress(FileNotFoundError):  # a file of its own that it removes
                sizes.append((str(path), path.stat().st_size))
        return sizes


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Return a server, which is killed afterwards."""
    started = Server(tmp_path / "milvus", free_port())
    yield started
    started.process.send_signal(signal.SIGCONT)
    started.kill()


def _connect(address: str) -> MilvusDatabase:
    end = time.monotonic() + 60
    while True:
        try:
            return MilvusDatabase(address, timeout=TIMEOUT)
        except EngineUnavailable:
            if time.monotonic() > end:
                raise


def _row(number: int, docid: str, stored: str = "{}") -> Row:
    return Row(number, docid, value_number(docid), sparse_vector({7: 1.0 + number}), None, stored, None, (), (3,))


@pytest.mark.slow
@pytest.mark.process
def test_a_server_that_dies_or_hangs_is_reported_in_time_and_used_again_when_it_is_back(server: Server) -> None:
    database = _connect(server.address)
    collection = database.create("one", 0)
    collection.upsert([_row(0, "a"), _row(1, "b")])
    collection.finish()
    query = [sparse_vector({7: 1.0})]
    assert collection.search(query, 5) == [[(1, 2.0), (0, 1.0)]]

    def stop() -> None:
        server.process.send_signal(signal.SIGSTOP)
        os.waitpid(server.process.pid, os.WUNTRACED)  # a busy machine stops the process some time after the signal

    for fault, repair in (
        (server.kill, server.start),
        (stop, lambda: server.process.send_signal(signal.SIGCONT)),
    ):
        fault()
        started = time.monotonic()
        with pytest.raises(EngineUnavailable, match=f"Milvus at {server.address} does not answer correctly"):
            collection.search(query, 5)
        assert time.monotonic() - started < 3 * TIMEOUT
        repair()
        end = time.monotonic() + 60
        while True:
            try:
                assert collection.search(query, 5) == [[(1, 2.0), (0, 1.0)]]
                break
            except EngineUnavailable:
                assert time.monotonic() < end
    database.close()


def test_nothing_at_the_address_is_said_in_one_sentence_without_the_key() -> None:
    address = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(EngineUnavailable, match=f"^Milvus at {address} does not answer") as refused:
        MilvusDatabase(address, "root:secret", 1.0)
    assert "secret" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_without_milvus_lite_is_told_which_package_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "milvus_lite", None)
    with pytest.raises(DependencyMissing, match=r"needs milvus-lite, .*: `pip install milvus-lite`"):
        MilvusDatabase(str(tmp_path / "new" / "lite.db"))
    assert not (tmp_path / "new").exists()


class _Client(MagicMock):
    """A client of a server with these collections that does not create indexes in time."""

    collections: ClassVar[set[str]] = {"other"}

    def has_collection(self, name: str, timeout: float) -> bool:
        return name in self.collections

    def create_collection(self, name: str, **options: object) -> None:
        self.collections.add(name)

    def create_index(self, name: str, indexes: object, timeout: float, *, sync: bool) -> None:
        raise OSError("deadline exceeded")

    def drop_collection(self, name: str, timeout: float) -> None:
        self.collections.discard(name)


def test_a_collection_that_could_not_be_created_whole_is_dropped_since_it_could_never_be_loaded() -> None:
    database = MilvusDatabase.__new__(MilvusDatabase)
    database.client, database.errors, database.timeout = _Client(), (OSError,), TIMEOUT
    database.address, database._milvus = "http://milvus", MagicMock(MilvusException=KeyError)
    for _ in range(2):
        with pytest.raises(EngineUnavailable, match=r"does not answer correctly \(deadline exceeded\)"):
            database.create("one", 0)
        assert database.client.collections == {"other"}
    database.client.drop_collection = MagicMock(side_effect=OSError("not now"))
    with pytest.raises(EngineUnavailable, match="deadline exceeded"):
        database.create("one", 0)


@pytest.mark.slow
def test_a_collection_whose_creation_was_interrupted_is_not_there_and_can_be_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = MilvusDatabase(str(tmp_path / "lite.db"))
    with monkeypatch.context() as patched:
        patched.setattr(database.client, "create_index", MagicMock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            database.create("one", 0)
    assert database.client.has_collection("one")
    assert database.open("one") is None
    collection = database.create("one", 0)
    collection.upsert([_row(0, "a")])
    collection.finish()
    opened = database.open("one")
    assert opened is not None
    assert opened.search([sparse_vector({7: 1.0})], 5) == [[(0, 1.0)]]
    assert database.create("one", 0).count() == 1  # it is whole, and stays as it is
    database.close()


@pytest.mark.slow
def test_hostile_docids_and_long_records_come_back_as_they_were(tmp_path: Path) -> None:
    database = MilvusDatabase(str(tmp_path / "lite.db"))
    collection = database.create("one", 0)
    docids = ["'\"\\", "] or number >= 0 //", "a\0b\n", "𝒳" * 500, "{docid}"]
    stored = "긴 글 " * 20_000
    collection.upsert([_row(number, docid, stored) for number, docid in enumerate(docids)])
    collection.upsert([_row(0, docids[0], stored)])  # again
    assert collection.count() == 5
    found = collection.read(range(5), ("docid", "stored"))
    assert [(found[number].docid, found[number].stored) for number in range(5)] == [(each, stored) for each in docids]
    with pytest.raises(IndexingError, match="Record 'x' has 4,097 different terms"):
        collection.upsert([_row(9, "x")._replace(terms=tuple(range(4_097)))])
    database.close()


def test_a_condition_has_nothing_but_names_and_integers() -> None:
    hostile = RecordFilter(1999, 2020, author=('x"] or 1 == 1',), journal=("y') //", "z"))
    written = _expression(Some((Without(filter_condition(hostile)),)))
    assert set("".join(each for each in written if not each.isdigit())) <= set("()[], <=>_") | set(
        "yearkeysandornotarray_contains_any"
    )
