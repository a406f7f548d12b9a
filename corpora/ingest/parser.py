"""The parser reads source files in a process of its own, whose time, memory and output are limited.

    this process                     worker process (parser_worker)
    Parser(limits).read(path, …) ──▶ ParseRequest
    yields items                 ◀── ParsedBatch, until one says that the file has ended

One worker reads many files. If a file crashes the worker or exceeds a limit, it ends in a reject, and the next file
gets a new worker. The processes exchange messages on the worker's stdin and stdout: four bytes of length, then
MessagePack.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import IO, Literal, NamedTuple, cast

import msgspec

from shrag.corpora.errors import CorpusError, RejectedLine
from shrag.corpora.formats.columns import Columns
from shrag.corpora.formats.detection import FormatGuess
from shrag.corpora.formats.registry import Format
from shrag.corpora.readers.item import ParsedItem
from shrag.messages.text import Text, packed, unpacked

COMMAND = (sys.executable, "-P", "-m", "shrag.corpora.ingest.parser_worker")
"""The command that starts a worker; its argument is the memory limit in bytes."""

WAITING = 50
"""How many seconds a worker may take per second of allowed processor time.

Even a busy machine is faster, so a worker that takes longer is waiting for data.
"""

_LENGTH = struct.Struct(">I")
_MIB = 2**20


class ParserLimits(msgspec.Struct, frozen=True):
    """Limits for reading one file.

    Attributes:
        seconds: Seconds of processor time, which does not depend on other programs.
        seconds_per_mib: Additional seconds for each MiB of the file.
        memory: Bytes of the worker's address space.
        output: Bytes of the messages with the file's records.
        output_ratio: Additional bytes of messages for each byte of the file.
    """

    seconds: float = 120
    seconds_per_mib: float = 10
    memory: int = 2048 * _MIB
    output: int = 256 * _MIB
    output_ratio: int = 64

    def file_seconds(self, size: int) -> float:
        """Return the seconds of processor time allowed for a file of ``size`` bytes."""
        return self.seconds + self.seconds_per_mib * size / _MIB

    def file_output(self, size: int) -> int:
        """Return the bytes of output allowed for a file of ``size`` bytes."""
        return self.output + self.output_ratio * size


class ParseRequest(msgspec.Struct, frozen=True, array_like=True):
    """A file to read; ``columns`` are those that the user named for the format table.

    Attributes:
        inspect: Whether to return the guessed format instead of reading the file; ``format`` may then be empty.
    """

    path: bytes
    format: str
    columns: Columns | None
    repair: bool
    inspect: bool
    seconds: float
    output: int


class ParsedBatch(msgspec.Struct, frozen=True, array_like=True):
    """Items of a file in order, and the number of repairs in them by kind.

    Attributes:
        items: The items; the reason of a reject is encoded by :func:`encode_text`.
        ended: How the file ended with these items: ``end`` if it was read to its end, ``error`` for an error that ends
            the addition, ``reject`` if the rest is rejected. Empty if more items follow.
        message: The error or the reason of the reject, encoded by :func:`encode_text`. For an inspection, a
            :class:`FormatGuess` as JSON, whose ``why`` and ``fields`` are encoded by :func:`encode_text` too.
    """

    items: list[ParsedItem] = []
    repairs: dict[str, int] = {}
    ended: Literal["", "end", "error", "reject"] = ""
    message: bytes = b""


class ParsedItems(NamedTuple):
    """Items of a file in order, and the number of repairs in them by kind."""

    items: list[ParsedItem]
    repairs: dict[str, int]


class _Worker(NamedTuple):
    process: subprocess.Popen[bytes]
    requests: IO[bytes]
    replies: IO[bytes]


class Parser:
    """Reads files in a worker process, for one thread; a context manager whose end stops the worker."""

    def __init__(self, limits: ParserLimits) -> None:
        self._limits = limits
        self._worker: _Worker | None = None
        self._ready = False

    def __enter__(self) -> Parser:
        self._start()  # the worker loads while the caller prepares the draft
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def read(self, path: Path, format: Format, *, repair: bool) -> Generator[ParsedItems]:
        """Yield the items of a file in batches; the last item is a reject if the file was not read to its end.

        Args:
            path: The file.
            format: The format of the file, from the registry.
            repair: Whether to repair the records (:mod:`shrag.corpora.text.repairs`).

        Raises:
            CorpusError: As :func:`~shrag.corpora.formats.detection.read_source`, or the worker does not start.
        """
        if format.reject:
            yield ParsedItems([_reject(None, format.reject)], {})
            return
        request, seconds = self._request(path, format.name, format.columns, repair=repair)
        worker = self._ready_worker()
        last: ParsedItem | None = None
        whole = False
        try:
            with suppress(BrokenPipeError):  # if the worker has ended, receiving its reply says so
                send_message(worker.requests, msgspec.msgpack.encode(request))
            while not whole:
                batch = self._receive(worker, seconds)
                last = batch.items[-1] if batch.items else last
                yield ParsedItems([_decode_reason(item) for item in batch.items], batch.repairs)
                if batch.ended == "error":
                    raise CorpusError(decode_text(batch.message))
                if batch.ended == "reject":
                    yield ParsedItems([_reject(last, decode_text(batch.message))], {})
                    return
                whole = batch.ended == "end"
        finally:
            if not whole and self._worker is worker:
                self.stop()

    def inspect(self, path: Path, format: Format | None, columns: Columns) -> FormatGuess:
        """Return the format that a file is taken for.

        Raises:
            RejectedLine: The file exceeds a limit or ends the worker, so that it is a reject as a whole.
            CorpusError: As :func:`~shrag.corpora.formats.detection.inspect_file`, or the worker does not start.
        """
        request, seconds = self._request(path, format.name if format else "", columns, repair=False, inspect=True)
        worker = self._ready_worker()
        with suppress(BrokenPipeError):
            send_message(worker.requests, msgspec.msgpack.encode(request))
        batch = self._receive(worker, seconds)
        if batch.ended == "end":
            guess = msgspec.json.decode(decode_text(batch.message), type=FormatGuess)
            fields = tuple(decode_text(each.encode()) for each in guess.fields)
            return msgspec.structs.replace(guess, why=decode_text(guess.why.encode()), fields=fields)
        message = decode_text(batch.message)
        if batch.ended == "reject":
            self.stop()
            raise RejectedLine(message)
        raise CorpusError(message)

    def _request(
        self, path: Path, format: str, columns: Columns | None, *, repair: bool, inspect: bool = False
    ) -> tuple[ParseRequest, float]:
        size = _size(path)
        seconds, output = self._limits.file_seconds(size), self._limits.file_output(size)
        return ParseRequest(os.fsencode(path), format, columns, repair, inspect, seconds, output), seconds

    def stop(self) -> None:
        """End the worker; the next file gets a new one."""
        if self._worker is None:
            return
        process, requests, replies = self._worker
        self._worker = None
        process.kill()
        process.wait()
        replies.close()
        with suppress(BrokenPipeError):
            requests.close()

    def _receive(self, worker: _Worker, seconds: float) -> ParsedBatch:
        data = receive_message(worker.replies)
        if data is not None:
            try:
                return _decode_batch(data)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise CorpusError(
                    Text(
                        "The process that reads files sent data that cannot be decoded ({error}): run it again. If "
                        "that happens twice, test the memory of this machine.",
                        error=error,
                    )
                ) from error
        return ParsedBatch(ended="reject", message=encode_text(_cause_of_death(worker.process.wait(), seconds)))

    def _ready_worker(self) -> _Worker:
        worker = self._worker or self._start()
        if not self._ready and receive_message(worker.replies) is None:
            raise CorpusError(
                Text(
                    "The process that reads files ended as it started (exit status {status}): it may use {memory} "
                    "MiB of memory, allow it more with --max-memory.",
                    status=worker.process.wait(),
                    memory=self._limits.memory // _MIB,
                )
            )
        self._ready = True
        return worker

    def _start(self) -> _Worker:
        process = subprocess.Popen(  # noqa: S603  (our own module)
            [*COMMAND, str(self._limits.memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._ready = False
        self._worker = _Worker(process, cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout))
        return self._worker


def send_message(stream: IO[bytes], data: bytes) -> None:
    """Write an encoded message; raises ``BrokenPipeError`` if nothing reads it."""
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def receive_message(stream: IO[bytes]) -> bytes | None:
    """Return the next encoded message, or None if the other side has ended."""
    header = stream.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(header)
    data = stream.read(length)
    return data if len(data) == length else None


def encode_text(text: str) -> bytes:
    """Encode a text; it may have surrogates, as in names of files that are not UTF-8."""
    return json.dumps(packed(text)).encode()


def decode_text(data: bytes) -> str:
    """Decode the output of :func:`encode_text`."""
    return unpacked(json.loads(data))


def _decode_reason(item: ParsedItem) -> ParsedItem:
    return item._replace(outcome=decode_text(item.outcome.encode())) if isinstance(item.outcome, str) else item


def _reject(last: ParsedItem | None, reason: str) -> ParsedItem:
    if last is None:
        return ParsedItem(1, 0, Text("the file was not read: {reason}", reason=reason))
    beyond = Text("the file was not read beyond the item on this line: {reason}", reason=reason)
    return ParsedItem(last.number, last.offset, beyond)


def _cause_of_death(status: int, seconds: float) -> str:
    if status == -signal.SIGPROF:
        return Text(
            "it takes more than {seconds:.0f} s of processor time; allow more with --max-seconds", seconds=seconds
        )
    if status == -signal.SIGALRM:
        return Text("the process that read it waited more than {seconds:.0f} s for its data", seconds=WAITING * seconds)
    if status < 0:
        return Text(
            "the process that read it was ended by {signal}: the file may be damaged, or need more memory; save it "
            "again, a spreadsheet without cells far outside its table, or allow more with --max-memory",
            signal=signal.Signals(-status).name,
        )
    return Text("the process that read it ended with exit status {status}", status=status)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # the worker says what is wrong with it


_decode_batch = msgspec.msgpack.Decoder(ParsedBatch).decode
