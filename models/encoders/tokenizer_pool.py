"""TokenizerPool tokenizes in several processes, since a large GPU encodes much more than one core can tokenize.

Run as a module, this is the fork server of those processes. A request is a list of texts, and the reply is a
:class:`TokenReply`.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import msgspec
import numpy as np

from shrag.models.encoders.tokenization import Tokeniser, Tokens
from shrag.models.fork_server import Connection, ForkServer, serve

COMMAND = (sys.executable, "-P", "-m", "shrag.models.encoders.tokenizer_pool")


class _Setup(msgspec.Struct, frozen=True):
    """The tokenizer's file and the most tokens of a text."""

    path: str
    max_tokens: int


class TokenReply(msgspec.Struct, frozen=True, array_like=True):
    """The tokens of several texts: the number of tokens of each text, and all tokens in order, as ``int32``."""

    lengths: bytes
    tokens: bytes


class TokenizerPool:
    """Several tokenizer processes, which start when they are first needed and end with this object."""

    def __init__(self, tokenizer: Tokeniser, workers: int) -> None:
        self._tokenizer = tokenizer
        self._server = ForkServer(COMMAND, _Setup(str(tokenizer.path), tokenizer.max_tokens))
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="tokens")
        self._local = threading.local()
        self.close = weakref.finalize(self, _close, self._server, self._threads)

    def tokens(self, chunks: Sequence[Sequence[str]]) -> Iterator[list[Tokens]]:
        """Yield the tokens of each chunk of texts in order; later chunks are tokenized while the caller uses one."""
        futures: list[Future[list[Tokens]]] = [self._threads.submit(self._tokenize, chunk) for chunk in chunks]
        for future in futures:
            yield future.result()

    def _tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        connection: Connection | None = getattr(self._local, "connection", None)
        try:
            if connection is None:
                self._server.start()
                connection = self._local.connection = self._server.connect()
            connection.send(list(texts))
            return _unpack(msgspec.msgpack.decode(connection.receive(), type=TokenReply))
        except EOFError:
            # The worker died, for instance because memory ran out; this process gives the same tokens.
            if connection is not None:
                self._server.release(connection)
                self._local.connection = None
            return self._tokenizer.texts(texts)


def _close(server: ForkServer, threads: ThreadPoolExecutor) -> None:
    server.interrupt()
    threads.shutdown(cancel_futures=True)
    server.close()


def _pack(tokens: list[Tokens]) -> TokenReply:
    lengths = np.array([len(each) for each in tokens], dtype=np.int32)
    return TokenReply(lengths.tobytes(), np.concatenate([*tokens, np.empty(0, np.int32)]).astype(np.int32).tobytes())


def _unpack(reply: TokenReply) -> list[Tokens]:
    ends = np.cumsum(np.frombuffer(reply.lengths, dtype=np.int32))
    return np.split(np.frombuffer(reply.tokens, dtype=np.int32), ends[:-1]) if len(ends) else []


def _load(setup: bytes) -> Callable[[Connection], None]:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # each of these processes uses one core
    chosen = msgspec.json.decode(setup, type=_Setup)
    tokenizer = Tokeniser(Path(chosen.path), chosen.max_tokens)

    def answer(connection: Connection) -> None:
        while True:
            texts = msgspec.msgpack.decode(connection.receive(), type=list[str])
            connection.send(_pack(tokenizer.texts(texts)))

    return answer


if __name__ == "__main__":
    serve(_load)
