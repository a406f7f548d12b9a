"""Log of requests: the id and log fields of the current request, and a handler that writes records as JSON lines."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import traceback
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from logging.handlers import QueueHandler
from queue import SimpleQueue
from typing import TextIO

import msgspec

from shrag.corpora.text.terminal import escape_controls
from shrag.messages.text import Language
from shrag.serving.runtime.background import BACKGROUND

LOGGER = "shrag.serving"
"""The name of the server's logger."""

_WAITING_LINES = 10_000

_GATHER_SECONDS = 0.02
"""How long a line waits for others. Under load, waking the thread for each line takes longer than writing the line."""

_log = logging.getLogger(LOGGER)


@dataclass(slots=True)
class RequestContext:
    """The id of a request, the language of its error messages, and further fields of its line in the access log."""

    request_id: str
    language: Language = "en"
    log_fields: dict[str, object] = field(default_factory=dict)


REQUEST_CONTEXT: ContextVar[RequestContext] = ContextVar("request_context")
"""The context of the request that the current task serves."""


def request_id() -> str:
    """Return the id of the current request; empty if there is none."""
    context = REQUEST_CONTEXT.get(None)
    return context.request_id if context is not None else ""


def request_language() -> Language:
    """Return the language that the current request prefers; English if there is no request."""
    context = REQUEST_CONTEXT.get(None)
    return context.language if context is not None else "en"


def add_log_fields(**fields: object) -> None:
    """Add fields to the access log line of the current request; do nothing if there is no request."""
    context = REQUEST_CONTEXT.get(None)
    if context is not None:
        context.log_fields.update(fields)


def write_access_log(context: RequestContext, route: str, method: str, status: int, seconds: float) -> None:
    """Log the line of a request. The record is made directly: the logger would search for its caller, which is slow."""
    if _log.isEnabledFor(logging.INFO):
        record = logging.LogRecord(LOGGER, logging.INFO, "", 0, "request", (), None)
        fields = {"request_id": context.request_id, "method": method, "route": route, "status": status}
        record.fields = {**fields, "seconds": round(seconds, 6), **context.log_fields}
        _log.handle(record)


def log_failure() -> None:
    """Log the traceback of the exception being handled."""
    _log.exception("failed", extra={"fields": {"request_id": request_id()}})


class JsonLines(QueueHandler):
    """Writes records as JSON with ``time``, ``level``, ``event`` and the record's ``fields``, in a thread.

    While 10,000 lines wait, further records are dropped.
    """

    queue: SimpleQueue[str | None]

    def __init__(self, stream: TextIO) -> None:
        super().__init__(SimpleQueue[str | None]())
        self._writer = threading.Thread(target=_write_lines, args=(self.queue, stream), name="log", daemon=True)
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
        return escape_controls(msgspec.json.encode(entry).decode()) + "\n"

    def emit(self, record: logging.LogRecord) -> None:
        """See :class:`logging.Handler`."""
        if self.queue.qsize() < _WAITING_LINES and not _was_cut_off(record):
            super().emit(record)

    def close(self) -> None:
        """Write the waiting lines, for at most a second, and end."""
        self.queue.put(None)
        self._writer.join(1.0)
        super().close()


def _write_lines(queue: SimpleQueue[str | None], stream: TextIO) -> None:
    """Write lines until None comes; one call writes all that wait, since a call for each is too slow under load."""
    lines: list[str | None] = []
    while None not in lines:
        lines = [queue.get()]
        if lines[0] is not None:
            time.sleep(_GATHER_SECONDS)
        while not queue.empty():
            lines.append(queue.get())
        with BACKGROUND.watch("log"), suppress(BrokenPipeError, ValueError):  # the stream has no reader, or is closed
            stream.write("".join(filter(None, lines)))
            stream.flush()


def _was_cut_off(record: logging.LogRecord) -> bool:
    """Return whether a record says that a server which had to end at once broke off a request.

    That is no error, and each such record would log a page of traceback.
    """
    kind = record.exc_info[0] if record.exc_info else None
    return kind is asyncio.CancelledError or record.getMessage().rstrip().endswith("asyncio.exceptions.CancelledError")
