"""Count the evidence for the glossary on all cores, in ranges of records. The number of cores changes no result."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec

from shrag.corpora.errors import CorpusError
from shrag.corpora.files import DiskFailed, DiskFull, disk_errors
from shrag.corpora.store.parquet import RecordFile
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analysis.token_store import FILE as TOKEN_STORE
from shrag.indexing.analysis.token_store import TokenStore
from shrag.indexing.analysis.user_dictionary import load_dictionary
from shrag.indexing.errors import IndexingError
from shrag.indexing.glossary.evidence import CountedEvidence, count_evidence
from shrag.indexing.glossary.spelling.collector import SpellingCounts, count_spellings
from shrag.messages.text import Text
from shrag.models.fork_server import Connection, ForkServer, serve

COMMAND = (sys.executable, "-P", "-m", "shrag.indexing.build.glossary_workers")
"""Command of the fork server."""

RANGE = 4_096
"""Records that are counted together. In a very large corpus rare words are dropped after each range, so another number
would drop other words.
"""

_ATTEMPTS = 3


class CountedRecords(NamedTuple):
    """The counts of a range of records: evidence for the glossary, and spellings."""

    evidence: CountedEvidence
    spellings: SpellingCounts


class _Setup(msgspec.Struct, frozen=True, array_like=True):
    """The file of records, and the folder of the index with token store and user dictionary."""

    records: str
    index: str


class _Task(msgspec.Struct, frozen=True, array_like=True):
    start: int
    count: int
    rejected: tuple[str, ...]


class _Reply(msgspec.Struct, frozen=True, array_like=True):
    """The counts, or a message that ends the build.

    The file that cannot be read is the corpus, or another one if ``failed`` is true.
    """

    counted: CountedRecords | None
    error: str = ""
    failed: bool = False


def count_records(
    records: Path, index: Path, rejected: Sequence[str], analyzer: Analyzer, workers: int
) -> Iterator[CountedRecords]:
    """Yield the counts of each range of a file of records, in order, without the ``rejected`` records.

    Args:
        records: The file.
        index: The folder with the token store, which has every word, and with the user dictionary.
        rejected: The docids of the rejected records.
        analyzer: The index's analyzer. This process counts with it if there is one range or fewer than two ``workers``.
        workers: The number of processes that count a longer file.

    Raises:
        CorpusError: The file cannot be read.
        DiskFailed: A worker cannot read another file.
        OSError: The operating system prevents the workers from starting.
        IndexingError: Workers keep crashing.
    """
    with RecordFile(records) as file:
        total = len(file)
        if total <= RANGE or workers < 2:
            for start in range(0, total, RANGE):
                yield _count(file, _Task(start, RANGE, tuple(rejected)), analyzer)
            return
    server = ForkServer(COMMAND, _Setup(str(records), str(index)))
    server.start()
    own = threading.local()

    def ask(start: int) -> CountedRecords:
        for _ in range(_ATTEMPTS):
            connection: Connection | None = getattr(own, "connection", None)
            try:
                if connection is None:
                    connection = own.connection = server.connect()
                connection.send(_Task(start, RANGE, tuple(rejected)))
                return _result(connection.receive())
            except EOFError:
                if connection is not None:
                    server.release(connection)
                    own.connection = None
        if (error := server.system_error()) is not None:
            raise error
        status, message = server.failure()
        raise IndexingError(
            Text(
                "The processes that read the records for the glossary keep ending (exit status {status}, {message}): "
                "free some memory and run again.",
                status=status,
                message=message or Text("it left no message"),
            )
        )

    with closing(server), ThreadPoolExecutor(workers, "glossary") as pool:
        try:
            yield from _in_order(pool, ask, range(0, total, RANGE), 2 * workers)
        finally:
            server.interrupt()  # if the build ended early, threads still wait for their workers


def _in_order(
    pool: ThreadPoolExecutor, ask: Callable[[int], CountedRecords], starts: Sequence[int], most: int
) -> Iterator[CountedRecords]:
    """Yield the results in order. At most ``most`` are requested at a time, to limit the memory."""
    waiting: deque[Future[CountedRecords]] = deque()
    try:
        for start in starts:
            if len(waiting) == most:
                yield waiting.popleft().result()
            waiting.append(pool.submit(ask, start))
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def _result(received: bytes) -> CountedRecords:
    reply = msgspec.msgpack.decode(received, type=_Reply)
    if reply.counted is None:
        raise DiskFailed(reply.error) if reply.failed else CorpusError(reply.error)
    return reply.counted


def _count(file: RecordFile, task: _Task, analyzer: Analyzer) -> CountedRecords:
    left_out = frozenset(task.rejected)
    records = [record for record in file.read(task.start, task.count) if record.docid not in left_out]
    return CountedRecords(count_evidence(records, analyzer), count_spellings(records))


def _load(setup: bytes) -> Callable[[Connection], None]:
    chosen = msgspec.json.decode(setup, type=_Setup)
    return lambda connection: _work(connection, chosen)


def _work(connection: Connection, setup: _Setup) -> None:
    """Count ranges until the connection ends, which raises ``EOFError``."""
    index = Path(setup.index)
    analyzer: KoreanEnglishAnalyzer | None = None
    file: RecordFile | None = None
    while True:
        task = msgspec.msgpack.decode(connection.receive(), type=_Task)
        try:
            with disk_errors(index):
                if analyzer is None or file is None:
                    file = RecordFile(Path(setup.records))
                    analyzer = KoreanEnglishAnalyzer(TokenStore(index / TOKEN_STORE), load_dictionary(index))
                reply = _Reply(_count(file, task, analyzer))
        except CorpusError as error:
            reply = _Reply(None, str(error))
        except (DiskFull, DiskFailed, IndexingError, OSError) as error:
            reply = _Reply(None, str(error), failed=True)
        connection.send(reply)


if __name__ == "__main__":
    serve(_load)
