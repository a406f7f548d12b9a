"""Strip reasoning content from a model's output."""

from __future__ import annotations

_OPEN = "<think>"
_CLOSE = "</think>"


class ReasoningFilter:
    """Removes a leading ``<think>…</think>`` block, and the whitespace around it, from a stream of text.

    A block later in the text is part of the answer and stays. A block that is never closed is removed to the end.
    """

    def __init__(self) -> None:
        self._buffer = ""
        self._state = "start"

    def feed(self, piece: str) -> str:
        """Add the next piece; return the text that is certain to be part of the answer."""
        if self._state == "answer":
            return piece
        self._buffer += piece
        if self._state == "start":
            start = self._buffer.lstrip()
            if start.startswith(_OPEN):
                self._state, self._buffer = "reasoning", start[len(_OPEN) :]
            elif not _OPEN.startswith(start):
                return self._release("answer")
        if self._state == "reasoning":
            _, closed, rest = self._buffer.partition(_CLOSE)
            if not closed:
                self._buffer = self._buffer[-len(_CLOSE) :]
            else:
                self._state, self._buffer = "closed", rest
        if self._state == "closed":
            self._buffer = self._buffer.lstrip()
            if self._buffer:
                return self._release("answer")
        return ""

    def end(self) -> str:
        """Return the text that was held back because it might begin a block."""
        return self._release("answer") if self._state == "start" else ""

    def _release(self, state: str) -> str:
        text, self._buffer, self._state = self._buffer, "", state
        return text


def strip_reasoning(text: str) -> str:
    """Return a complete text without its leading reasoning block."""
    reasoning = ReasoningFilter()
    return reasoning.feed(text) + reasoning.end()
