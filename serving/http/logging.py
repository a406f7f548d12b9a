"""JSON log handler; request-id context variable."""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from logging.handlers import QueueHandler, QueueListener
from queue import SimpleQueue
from typing import Any, TextIO

import msgspec

LOGGER = "shrag.serving"
"""The name of the server's logger."""

_WAITING_LINES = 10_000

_GATHER_SECONDS = 0.02
"""How long a line may wait for others: under load, waking the thread for each takes longer than the line itself."""


class JsonLines(QueueHandler):
    """Writes ``time``, ``level``, ``event`` and the record's ``fields``; drops records while 10,000 lines wait."""

    def __init__(self, stream: TextIO) -> None:
        queue = SimpleQueue[str]()
        super().__init__(queue)
        self._writer = _Writer(queue, stream)
        self._writer.start()

    def prepare(self, record: logging.LogRecord) -> str:
        """Return the record as a line of JSON."""
        entry: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage().strip(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            entry["traceback"] = "".join(traceback.format_exception(*record.exc_info))
        return msgspec.json.encode(entry).decode() + "\n"

    def emit(self, record: logging.LogRecord) -> None:
        """See :class:`logging.Handler`."""
        if self._writer.waiting() < _WAITING_LINES and not _was_cut_off(record):
            super().emit(record)

    def close(self) -> None:
        """Write what waits, for at most a second, and end."""
        self._writer.stop()
        super().close()


class _Writer(QueueListener):
    """Writes all lines that wait by one call: a call for each could not keep up beside threads that compute."""

    def __init__(self, queue: SimpleQueue[str], stream: TextIO) -> None:
        super().__init__(queue)
        self.waiting = queue.qsize
        self._stream = stream
        self._lines: list[str] = []

    def handle(self, record: Any) -> None:  # noqa: ANN401  (a line; the signature is the standard library's)
        if not self._lines:
            time.sleep(_GATHER_SECONDS)
        self._lines.append(record)
        if self.waiting() > 1:  # one may be the sentinel, behind which there is no line
            return
        with suppress(OSError, ValueError):  # nobody reads the log any more
            self._stream.write("".join(self._lines))
            self._stream.flush()
        self._lines.clear()

    def stop(self) -> None:
        self.enqueue_sentinel()
        if self._thread:
            self._thread.join(1.0)


def _was_cut_off(record: logging.LogRecord) -> bool:
    """Say whether a request was broken off by a server told to end at once: no error, and a page of traceback each."""
    kind = record.exc_info[0] if record.exc_info else None
    return kind is asyncio.CancelledError or record.getMessage().rstrip().endswith("asyncio.exceptions.CancelledError")
