"""Count the evidence for the glossary on all cores, in ranges of records, and spell words while the caller mines it.

The number of cores changes no result.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
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
from shrag.indexing.glossary.spelling.collector import SpellingCollector, SpellingCounts, count_spellings
from shrag.indexing.glossary.spelling.table import SpelledWords, spell_words
from shrag.messages.text import Text
from shrag.models.fork_server import Connection, ForkServer, serve

COMMAND = (sys.executable, "-P", "-m", "shrag.indexing.build.glossary_workers")
"""Command of the fork server."""

RANGE = 4_096
"""Records that are counted together. In a very large corpus rare words are dropped after each range, so another number
would drop other words.
"""

_ATTEMPTS = 3
_WAITING = 2  # ranges that are requested, for each process


class _Counted(NamedTuple):
    """The counts of a range of records: evidence for the glossary, and spellings."""

    evidence: CountedEvidence
    spellings: SpellingCounts


class _Setup(msgspec.Struct, frozen=True, array_like=True):
    """The file of records, and the folder of the index with token store and user dictionary."""

    records: str
    index: str


class _Count(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Count a range of records."""

    start: int
    count: int
    rejected: tuple[str, ...]


class _Spell(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Spell the words of all records."""

    counts: SpellingCounts


_Task = _Count | _Spell


class _Reply(msgspec.Struct, frozen=True, array_like=True):
    """The encoded result of a task, or a message that ends the build.

    The file that cannot be read is the corpus, or another one if ``failed`` is true.
    """

    result: bytes | None
    error: str = ""
    failed: bool = False


class GlossaryWorkers:
    """Processes that count the records of a file and spell their words. The end of its ``with`` block ends them.

    This process does the work itself if there is one range of records or fewer than two ``workers``.
    """

    def __init__(self, records: Path, index: Path, analyzer: Analyzer, workers: int) -> None:
        """Start the processes.

        Args:
            records: The file.
            index: The folder with the token store, which has every word, and with the user dictionary.
            analyzer: The index's analyzer.
            workers: The number of processes.

        Raises:
            CorpusError: The file cannot be read.
            OSError: The operating system prevents the processes from starting.
        """
        self._records, self._analyzer, self._workers = records, analyzer, workers
        with RecordFile(records) as file:
            self._starts = range(0, len(file), RANGE)
        self._server: ForkServer | None = None
        if len(self._starts) > 1 and workers > 1:
            self._server = ForkServer(COMMAND, _Setup(str(records), str(index)))
            self._server.start()
        self._threads = ThreadPoolExecutor(workers, "glossary")
        self._own = threading.local()
        self._spelled = Future[SpelledWords]()

    def __enter__(self) -> GlossaryWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.interrupt()  # if the build ends early, threads still wait for their processes
        self._threads.shutdown(cancel_futures=True)
        if self._server is not None:
            self._server.close()

    def count(self, rejected: Sequence[str]) -> Iterator[CountedEvidence]:
        """Yield the evidence of each range, in order, without the ``rejected`` records; then begin to spell the words.

        Raises:
            CorpusError: The file cannot be read.
            DiskFailed: A process cannot read another file.
            IndexingError: The processes keep crashing.
        """
        words, server = SpellingCollector(), self._server
        tasks = [_Count(start, RANGE, tuple(rejected)) for start in self._starts]
        for counted in self._count_in_order(server, tasks) if server else self._count_here(tasks):
            words.add(counted.spellings)
            yield counted.evidence
        if server:
            self._spelled = self._threads.submit(self._spell, server, words)
        else:
            self._spelled.set_result(spell_words(words, self._analyzer))

    def spelled(self) -> SpelledWords:
        """Return the words, once :meth:`count` has counted all records; raises as :meth:`count` does."""
        return self._spelled.result()

    def _count_here(self, tasks: Sequence[_Count]) -> Iterator[_Counted]:
        with RecordFile(self._records) as file:
            for task in tasks:
                yield _count(file, task, self._analyzer)

    def _count_in_order(self, server: ForkServer, tasks: Sequence[_Count]) -> Iterator[_Counted]:
        """Yield the counts in order. Few are requested at a time, to limit the memory."""
        waiting: deque[Future[bytes]] = deque()
        try:
            for task in tasks:
                if len(waiting) == _WAITING * self._workers:
                    yield msgspec.msgpack.decode(waiting.popleft().result(), type=_Counted)
                waiting.append(self._threads.submit(self._request, server, task))
            while waiting:
                yield msgspec.msgpack.decode(waiting.popleft().result(), type=_Counted)
        finally:
            for future in waiting:
                future.cancel()

    def _spell(self, server: ForkServer, words: SpellingCollector) -> SpelledWords:
        return msgspec.msgpack.decode(self._request(server, _Spell(words.counts())), type=SpelledWords)

    def _request(self, server: ForkServer, task: _Task) -> bytes:
        """Return the encoded result of a task from this thread's process, which is replaced if it crashes."""
        for _ in range(_ATTEMPTS):
            connection: Connection | None = getattr(self._own, "connection", None)
            try:
                if connection is None:
                    connection = self._own.connection = server.connect()
                connection.send(task)
                return _result(connection.receive())
            except EOFError:
                if connection is not None:
                    server.release(connection)
                    self._own.connection = None
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


def _result(received: bytes) -> bytes:
    reply = msgspec.msgpack.decode(received, type=_Reply)
    if reply.result is None:
        raise DiskFailed(reply.error) if reply.failed else CorpusError(reply.error)
    return reply.result


def _count(file: RecordFile, task: _Count, analyzer: Analyzer) -> _Counted:
    left_out = frozenset(task.rejected)
    records = [record for record in file.read(task.start, task.count) if record.docid not in left_out]
    return _Counted(count_evidence(records, analyzer), count_spellings(records))


def _spell(task: _Spell, analyzer: Analyzer) -> SpelledWords:
    words = SpellingCollector()
    words.add(task.counts)
    return spell_words(words, analyzer)


def _load(setup: bytes) -> Callable[[Connection], None]:
    chosen = msgspec.json.decode(setup, type=_Setup)
    return lambda connection: _work(connection, chosen)


def _work(connection: Connection, setup: _Setup) -> None:
    """Execute tasks until the connection ends, which raises ``EOFError``."""
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
                done = _count(file, task, analyzer) if isinstance(task, _Count) else _spell(task, analyzer)
                reply = _Reply(msgspec.msgpack.encode(done))
        except CorpusError as error:
            reply = _Reply(None, str(error))
        except (DiskFull, DiskFailed, IndexingError, OSError) as error:
            reply = _Reply(None, str(error), failed=True)
        connection.send(reply)


if __name__ == "__main__":
    serve(_load)
