"""The id of the request being served, for whatever answers it."""

from __future__ import annotations

from contextvars import ContextVar

_TRACE: ContextVar[str] = ContextVar("trace", default="")


def begin_trace(trace: str) -> None:
    """Let ``trace`` be the id from here on, in this task."""
    _TRACE.set(trace)


def trace_id() -> str:
    """Return the id, empty outside of a request."""
    return _TRACE.get()
