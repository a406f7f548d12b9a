"""JSON log handler; request-id context variable."""

from __future__ import annotations

import asyncio
import logging
import threading
import traceback
from collections import deque
from datetime import UTC, datetime
from typing import TextIO

import msgspec

LOGGER = "shrag.serving"
"""Where the server says what happens."""

_WAITING_LINES = 10_000

_GATHER_SECONDS = 0.02
"""How long a line may wait for others: under load, waking the thread for each takes longer than the line itself."""


class JsonLines(logging.Handler):
    """Writes ``time``, ``level``, ``event`` and the record's ``fields``; what comes while too many wait is dropped."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._lines: deque[str] = deque()
        self._some = threading.Event()
        self._ending = threading.Event()
        self._writer = threading.Thread(target=self._write, name="log", daemon=True)
        self._writer.start()

    def emit(self, record: logging.LogRecord) -> None:
        """See :class:`logging.Handler`."""
        if len(self._lines) >= _WAITING_LINES or _was_cut_off(record):
            return
        entry: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage().strip(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            entry["traceback"] = "".join(traceback.format_exception(*record.exc_info))
        self._lines.append(msgspec.json.encode(entry).decode() + "\n")
        if not self._some.is_set():
            self._some.set()

    def close(self) -> None:
        """Write what waits, for at most a second, and end."""
        self._ending.set()
        self._some.set()
        self._writer.join(1.0)
        super().close()

    def _write(self) -> None:
        ended = False
        while not ended:
            self._some.wait()
            ended = self._ending.wait(_GATHER_SECONDS)
            self._some.clear()
            waiting = [self._lines.popleft() for _ in range(len(self._lines))]
            try:
                self._stream.write("".join(waiting))
                self._stream.flush()
            except (OSError, ValueError):
                return  # nobody reads it any more


def _was_cut_off(record: logging.LogRecord) -> bool:
    """Tell what a server that ends at once, as it was told to, breaks off: no error, and a page of traceback each."""
    kind = record.exc_info[0] if record.exc_info else None
    return kind is asyncio.CancelledError or record.getMessage().rstrip().endswith("asyncio.exceptions.CancelledError")
