from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from subprocess import Popen

import pytest

from shrag.models.encoders.tokenization import Tokeniser
from shrag.models.encoders.tokenizer_pool import TokenizerPool
from tests.support.checkpoints import SENTENCES

pytestmark = pytest.mark.process


@pytest.fixture
def own(encoder_folder: Path) -> Tokeniser:
    """Return the tiny encoder's tokenizer, texts cut at 12 tokens."""
    return Tokeniser(encoder_folder / "tokenizer.json", 12)


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _server_process(pool: TokenizerPool) -> Popen[bytes]:
    process = pool._server._process
    assert process is not None
    return process


def _wait_until_gone(server: Popen[bytes] | None, workers: list[int]) -> None:
    if server is not None:
        server.wait(60)
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_processes_give_the_same_tokens_in_the_same_order(own: Tokeniser) -> None:
    pool = TokenizerPool(own, 2)
    chunks = [SENTENCES[start : start + 2] for start in range(0, len(SENTENCES), 2)] + [[], ["\ud55c\uae00 \U0001f9ea"]]
    for found, chunk in zip(pool.tokens(chunks), chunks, strict=True):
        assert [each.tolist() for each in found] == [each.tolist() for each in own.texts(chunk)]
    server = _server_process(pool)
    workers = _children(server.pid)
    assert 1 <= len(workers) <= 2
    pool.close()
    _wait_until_gone(server, workers)


def test_a_worker_that_died_costs_nothing_but_its_time(own: Tokeniser) -> None:
    pool = TokenizerPool(own, 1)
    assert [len(each) for each in pool.tokens([SENTENCES])] == [5]
    for with_server in (False, True, False):  # each time others are there for the next texts
        server = _server_process(pool)
        workers = _children(server.pid)
        assert len(workers) == 1
        for pid in (server.pid, *workers) if with_server else workers:
            os.kill(pid, signal.SIGKILL)
        # Until it has ended, the server would still take a connection, whose worker nobody forks.
        _wait_until_gone(server if with_server else None, workers)
        (found,) = pool.tokens([SENTENCES])
        assert [each.tolist() for each in found] == [each.tolist() for each in own.texts(SENTENCES)]
        assert [len(each) for each in pool.tokens([SENTENCES])] == [5]
    pool.close()
