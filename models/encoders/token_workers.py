"""Processes that cut texts into tokens side by side: one core gives a large GPU a small part of what it can encode."""

from __future__ import annotations

import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from shrag.models.encoders.token_worker import TokenAnswer, receive, send, unpack
from shrag.models.encoders.tokenization import Tokeniser, Tokens

COMMAND = (sys.executable, "-P", "-m", "shrag.models.encoders.token_worker")


class TokenWorkers:
    """So many processes, started when they are first needed; they end with this object."""

    def __init__(self, tokeniser: Tokeniser, workers: int) -> None:
        self._tokeniser = tokeniser
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="tokens")
        self._own = threading.local()
        self._processes: list[subprocess.Popen[bytes]] = []
        self.close = weakref.finalize(self, _end, self._threads, self._processes)

    def tokens(self, chunks: Sequence[Sequence[str]]) -> Iterator[list[Tokens]]:
        """Yield the tokens of the texts of each chunk, in order; those to come are cut while one is worked on."""
        futures: list[Future[list[Tokens]]] = [self._threads.submit(self._work, chunk) for chunk in chunks]
        for future in futures:
            yield future.result()

    def _work(self, texts: Sequence[str]) -> list[Tokens]:
        process = self._process()
        try:
            if process.stdin is None or process.stdout is None:
                return self._tokeniser.texts(texts)
            send(process.stdin, list(texts))
            return unpack(receive(process.stdout, TokenAnswer))
        except (EOFError, OSError):
            # It died, as an operating system short of memory lets processes die: the same work done here is the same.
            process.kill()
            return self._tokeniser.texts(texts)

    def _process(self) -> subprocess.Popen[bytes]:
        process: subprocess.Popen[bytes] | None = getattr(self._own, "process", None)
        if process is None or process.poll() is not None:
            command = [*COMMAND, str(self._tokeniser.path), str(self._tokeniser.max_tokens)]
            process = subprocess.Popen(  # noqa: S603  (our own module)
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            self._own.process = process
            self._processes.append(process)
        return process


def _end(threads: ThreadPoolExecutor, processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.kill()
        process.wait()
    threads.shutdown(cancel_futures=True)
    for process in processes:
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
