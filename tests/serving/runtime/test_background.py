"""Background work goes on after an error, which is logged, counted and shown by health checks."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import io
import json
import logging
import resource
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from shrag.indexing.errors import IndexDamaged
from shrag.indexing.open_index import open_generation
from shrag.indexing.storage.checksums import Verify
from shrag.indexing.storage.generations import generation_folder, read_current, read_generation
from shrag.models.chat.circuit_breaker import CircuitBreaker
from shrag.serving.app import create_app, watch_model
from shrag.serving.engine import Engine
from shrag.serving.runtime import background, hot_reload
from shrag.serving.runtime.background import BackgroundErrors, record_ended_threads
from shrag.serving.runtime.hot_reload import CurrentIndex
from tests.support.live import live_app, read_all, split, wait_until
from tests.support.published import opener, publish_copy
from tests.support.served_process import served

pytestmark = pytest.mark.slow


@pytest.fixture
def errors(monkeypatch: pytest.MonkeyPatch) -> BackgroundErrors:
    """Return what records the errors, without those of other tests."""
    own = BackgroundErrors()
    for module in ("background", "hot_reload", "metrics"):
        monkeypatch.setattr(f"shrag.serving.runtime.{module}.BACKGROUND", own)
    for module in ("app", "api.routes"):
        monkeypatch.setattr(f"shrag.serving.{module}.BACKGROUND", own)
    return own


def test_an_error_is_counted_each_time_logged_once_and_gone_from_the_problems_after_a_pass_without_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    errors = BackgroundErrors()
    with caplog.at_level(logging.ERROR, logger="shrag.serving.background"):
        for _ in range(3):
            with errors.watch("task"):
                raise OSError(errno.EMFILE, "Too many open files")
    assert errors.counts == {"task": 3}
    assert errors.problem == "task: OSError: [Errno 24] Too many open files"
    assert len(caplog.records) == 1
    with errors.watch("task"):
        pass
    assert (errors.counts, errors.problem) == ({"task": 3}, "")


def test_the_thread_that_looks_for_new_generations_goes_on_after_an_error(
    index: Path, errors: BackgroundErrors, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = threading.Event()

    def read_or_fail(folder: Path) -> tuple[int, str]:
        if failing.is_set():
            raise OSError(errno.EMFILE, "Too many open files")
        return read_current(folder)

    monkeypatch.setattr(hot_reload, "read_current", read_or_fail)
    with closing(CurrentIndex(index, opener(index))) as current:
        current.watch(0.02)
        with live_app(create_app(current)) as server:
            failing.set()
            wait_until(lambda: errors.counts.get("hot reload of demo", 0) >= 2)
            health = json.loads(server.ask("GET", "/health/ready")[2])
            assert health["background_problem"] == "hot reload of demo: OSError: [Errno 24] Too many open files"
            assert 'shrag_background_errors_total{task="hot reload of demo"}' in server.ask("GET", "/metrics")[2]
            publish_copy(index, generation_folder(index, 1))
            failing.clear()
            wait_until(lambda: current.status.generation == 2, 60)
            wait_until(lambda: json.loads(server.ask("GET", "/health/ready")[2])["background_problem"] == "")


def test_an_error_of_one_served_index_is_logged_once_and_stays_known_while_another_index_has_none(
    errors: BackgroundErrors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    passes: Counter[str] = Counter()

    def refresh(current: CurrentIndex) -> bool:
        passes[current.name] += 1
        if current.name == "sci":
            raise OSError(errno.EMFILE, "Too many open files")
        return False

    def open_nothing(verify: Verify, generation: int | None) -> Engine:
        return cast(Engine, SimpleNamespace(name="", manifest=SimpleNamespace(generation=1), close=lambda: None))

    monkeypatch.setattr(hot_reload, "read_current", lambda _: (1, ""))
    monkeypatch.setattr(CurrentIndex, "refresh", refresh)
    with (
        caplog.at_level(logging.ERROR, logger="shrag.serving.background"),
        closing(CurrentIndex(tmp_path / "sci", open_nothing)) as failing,
        closing(CurrentIndex(tmp_path / "wiki", open_nothing)) as working,
    ):
        failing.watch(0.01)
        working.watch(0.01)
        wait_until(lambda: min(passes["sci"], passes["wiki"]) >= 10)
    assert errors.problem == "hot reload of sci: OSError: [Errno 24] Too many open files"
    assert len(caplog.records) == 1


def test_the_model_is_checked_again_after_an_error(errors: BackgroundErrors) -> None:
    class Failing:
        state = "open"
        seconds_since_answer = 0.0

        def check(self, seconds: float) -> bool:
            raise ValueError(f"not within {seconds}")

    async def watch() -> None:
        task = asyncio.create_task(watch_model(cast(CircuitBreaker, Failing()), 0.01, 0.01, 0.5))
        while errors.counts.get("model check", 0) < 3:
            await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(asyncio.wait_for(watch(), 20))
    assert errors.problem == "model check: ValueError: not within 0.5"


def test_the_end_of_the_checks_does_not_wait_for_a_model_that_hangs() -> None:
    checked, answered = threading.Event(), threading.Event()

    class Hanging:
        state = "open"

        def check(self, seconds: float) -> bool:
            checked.set()
            return answered.wait(20)

    async def watch() -> float:
        task = asyncio.create_task(watch_model(cast(CircuitBreaker, Hanging()), 0.01, 0.01, 0.5))
        while not checked.is_set():
            await asyncio.sleep(0.01)
        cancelled = time.monotonic()
        task.cancel()
        await asyncio.wait([task])
        return time.monotonic() - cancelled

    try:
        assert asyncio.run(asyncio.wait_for(watch(), 30)) < 5
    finally:
        answered.set()


@pytest.fixture
def excepthook() -> Iterator[None]:
    """Put the hook of threads back."""
    before = threading.excepthook
    yield
    threading.excepthook = before


@pytest.mark.usefixtures("excepthook")
def test_a_thread_that_ends_with_an_error_is_counted(errors: BackgroundErrors) -> None:
    def fail() -> None:
        raise OSError("gone")

    record_ended_threads()
    assert background.BACKGROUND is errors
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    assert (errors.counts, errors.problem) == ({"thread": 1}, "thread: OSError: gone")


def test_files_that_cannot_be_opened_for_want_of_descriptors_are_checked_later_and_not_called_damaged(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest, calls = hashlib.file_digest, [0]

    def fail_first(stream: io.BufferedReader, name: str) -> object:
        calls[0] += 1
        if calls[0] == 1:
            raise OSError(errno.EMFILE, "Too many open files")
        return digest(stream, name)

    monkeypatch.setattr(hashlib, "file_digest", fail_first)
    monkeypatch.setattr("shrag.indexing.open_index._RETRY_SECONDS", 0.05)
    with closing(open_generation(generation_folder(index, 1), read_generation(index, 1), "quick")) as opened:
        assert opened.checksums.wait(60) == "verified"
        assert calls[0] > 1


def test_a_check_that_ends_with_another_error_does_not_call_the_files_verified(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shrag.indexing.open_index._RETRY_SECONDS", 0.05)
    real = open_generation(generation_folder(index, 1), read_generation(index, 1), "quick")
    assert real.checksums.wait(60) == "verified"
    monkeypatch.setattr(
        "shrag.indexing.storage.checksums.hashlib.file_digest", lambda *_: (_ for _ in ()).throw(ValueError("odd"))
    )
    with closing(open_generation(generation_folder(index, 1), read_generation(index, 1), "quick")) as opened:
        assert opened.checksums.wait(60) == "damaged"
        with pytest.raises(IndexDamaged, match="odd"):
            opened.checksums.raise_if_damaged()
    real.close()


@pytest.mark.process
def test_idle_connections_are_refused_before_descriptors_run_out_and_new_generations_are_still_loaded(
    index: Path,
) -> None:
    with served(index.parents[1]) as server:
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (360, 360))
        connections = [socket.create_connection(("127.0.0.1", server.port), timeout=20) for _ in range(500)]
        refused = connections[-1]
        assert split(read_all(refused))[0] == 503
        publish_copy(index, generation_folder(index, 1))
        used = connections[0]
        used.sendall(b"GET /health/ready HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        assert used.recv(12) == b"HTTP/1.1 200"
        for connection in connections:
            connection.close()

        def generation() -> int:
            with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
                connection.sendall(b"GET /health/ready HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
                status, _, body = split(read_all(connection))
                return int(json.loads(body)["index_generation"]) if status == 200 else 0

        wait_until(lambda: generation() == 2, 60)
        assert not [line for line in server.log if "Too many open files" in line]
