"""The worker process of :class:`~shrag.corpora.ingest.parser.Parser`; it reads files within limits until stdin ends."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import IO, Literal

import msgspec

from shrag.corpora.errors import CorpusError
from shrag.corpora.formats.columns import Columns
from shrag.corpora.formats.detection import inspect_file, read_source
from shrag.corpora.formats.registry import Format, find_format, table_format
from shrag.corpora.ingest.parser import (
    WAITING,
    ParsedBatch,
    ParseRequest,
    encode_text,
    receive_message,
    send_message,
)
from shrag.corpora.readers.fields import has_unread_year
from shrag.corpora.readers.item import ParsedItem, reject_reason
from shrag.corpora.records import Record
from shrag.corpora.text.repairs import UNREAD_YEARS, repair_record
from shrag.messages.text import Text, message_of

_MIB = 2**20
_BATCH_ITEMS = 256
_BATCH_CHARACTERS = 2**18


class _OutputExceeded(Exception):
    pass


class _FileTask:
    """Reads one file and sends its items."""

    def __init__(self, request: ParseRequest, replies: IO[bytes]) -> None:
        self._request, self._replies = request, replies
        self._items: list[ParsedItem] = []
        self._repairs: Counter[str] = Counter()
        self._characters = self._sent = 0

    def run(self, memory: int) -> None:
        """Read the file; ``memory`` is the limit in bytes, for the reason of a reject."""
        try:
            signal.setitimer(signal.ITIMER_PROF, self._request.seconds)
            self._start_waiting()
            if self._request.inspect:
                self._send("end", self._inspect())
            else:
                self._read()
                self._send("end")
        except CorpusError as error:
            self._send("error", message_of(error))
        except MemoryError:
            self._items.clear()  # the batch itself may be what is too large
            reason = Text(
                "it needs more than {memory} MiB of memory; allow more with --max-memory", memory=memory // _MIB
            )
            self._send("reject", reason)
        except _OutputExceeded:
            self._items.clear()
            most = self._request.output // _MIB
            self._send("reject", Text("it becomes more than {most} MiB of records", most=most))
        except Exception as error:
            self._send("reject", reject_reason(error))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _inspect(self) -> str:
        format = find_format(self._request.format) if self._request.format else None
        guess = inspect_file(Path(os.fsdecode(self._request.path)), format, self._request.columns or Columns())
        fields = tuple(encode_text(each).decode() for each in guess.fields)
        guess = msgspec.structs.replace(guess, why=encode_text(guess.why).decode(), fields=fields)
        return msgspec.json.encode(guess).decode()

    def _read(self) -> None:
        for item in read_source(Path(os.fsdecode(self._request.path)), _format(self._request)):
            if isinstance(item.outcome, Record):
                self._add(item, item.outcome)
            else:
                reason = item.outcome and encode_text(item.outcome).decode()
                self._items.append(item._replace(outcome=reason))
            if len(self._items) >= _BATCH_ITEMS or self._characters >= _BATCH_CHARACTERS:
                self._send()

    def _add(self, item: ParsedItem, record: Record) -> None:
        if self._request.repair:
            record, repairs = repair_record(record)
            self._repairs.update(repairs)
            item = item._replace(outcome=record)
        if record.year is None and has_unread_year(record.other):
            self._repairs[UNREAD_YEARS] += 1
        self._items.append(item)
        self._characters += len(record.title) + len(record.text)

    def _send(self, ended: Literal["", "end", "error", "reject"] = "", message: str = "") -> None:
        """Send the items, unless they exceed the output limit; time spent waiting for the other side does not count."""
        batch = msgspec.msgpack.encode(ParsedBatch(self._items, self._repairs, ended, encode_text(message)))
        self._sent += len(batch)
        if self._sent > self._request.output and not message:
            raise _OutputExceeded
        signal.setitimer(signal.ITIMER_REAL, 0)
        send_message(self._replies, batch)
        self._start_waiting()
        self._items.clear()
        self._repairs.clear()
        self._characters = 0

    def _start_waiting(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, WAITING * self._request.seconds)


def _format(request: ParseRequest) -> Format:
    return table_format(request.columns) if request.columns else find_format(request.format)


def main() -> None:
    """Read files until stdin ends; the process's argument is its memory limit in bytes."""
    memory = int(sys.argv[1])
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (memory if most == resource.RLIM_INFINITY else min(memory, most), most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C at the terminal is for the process that started this one
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    decode = msgspec.msgpack.Decoder(ParseRequest).decode
    try:
        send_message(replies, msgspec.msgpack.encode(ParsedBatch()))
        while (request := receive_message(requests)) is not None:
            _FileTask(decode(request), replies).run(memory)
    except BrokenPipeError:
        os._exit(0)  # the process that started this one has ended


if __name__ == "__main__":
    main()
