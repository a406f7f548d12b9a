"""The server's log: one JSON object a line, written by a thread of its own, so that nobody waits for who reads it."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import traceback
from datetime import UTC, datetime
from typing import TextIO

import msgspec

LOGGER = "shrag.serving"
"""Where the server says what happens."""

_WAITING_LINES = 10_000


class JsonLines(logging.Handler):
    """Writes ``time``, ``level``, ``event`` and the record's ``fields``; what finds the queue full is dropped."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._lines: queue.Queue[str | None] = queue.Queue(_WAITING_LINES)
        self._writer = threading.Thread(target=self._write, name="log", daemon=True)
        self._writer.start()

    def emit(self, record: logging.LogRecord) -> None:
        """See :class:`logging.Handler`."""
        if _was_cut_off(record):
            return
        entry: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage().strip(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            entry["traceback"] = "".join(traceback.format_exception(*record.exc_info))
        try:
            self._lines.put_nowait(msgspec.json.encode(entry).decode() + "\n")
        except queue.Full:
            return

    def close(self) -> None:
        """Write what waits, for at most a second, and end."""
        try:
            self._lines.put_nowait(None)
        except queue.Full:
            pass
        else:
            self._writer.join(1.0)
        super().close()

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                self._stream.write(line)
                self._stream.flush()
            except (OSError, ValueError):
                return  # nobody reads it any more


def _was_cut_off(record: logging.LogRecord) -> bool:
    """Tell what a server that ends at once, as it was told to, breaks off: no error, and a page of traceback each."""
    kind = record.exc_info[0] if record.exc_info else None
    return kind is asyncio.CancelledError or record.getMessage().rstrip().endswith("asyncio.exceptions.CancelledError")
