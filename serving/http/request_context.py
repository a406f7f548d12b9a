"""Context of the request being served: its id, and fields for its line in the access log."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(slots=True)
class RequestContext:
    """The id of a request, and what its handling adds to its line in the access log."""

    request_id: str
    log_fields: dict[str, object] = field(default_factory=dict)


_CONTEXT: ContextVar[RequestContext] = ContextVar("request_context")


def begin_request(request_id: str) -> RequestContext:
    """Make a new context current in this task and return it."""
    context = RequestContext(request_id)
    _CONTEXT.set(context)
    return context


def request_id() -> str:
    """Return the id of the current request; empty outside of one."""
    context = _CONTEXT.get(None)
    return context.request_id if context is not None else ""


def add_log_fields(**fields: object) -> None:
    """Add fields to the access log line of the current request; outside of one, do nothing."""
    context = _CONTEXT.get(None)
    if context is not None:
        context.log_fields.update(fields)
