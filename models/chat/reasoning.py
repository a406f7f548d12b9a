"""Strip reasoning content from a model's output."""

from __future__ import annotations

_OPEN = "<think>"
_CLOSE = "</think>"


class ThinkingFilter:
    """Passes a text on piece by piece without a leading ``<think>…</think>`` and the white space around it.

    Such a block later in the text is the answer's own words and stays. One that is never closed is left out whole.
    """

    def __init__(self) -> None:
        self._held = ""
        self._state = "start"

    def feed(self, piece: str) -> str:
        """Take the next piece; return what can be shown by now."""
        if self._state == "answer":
            return piece
        self._held += piece
        if self._state == "start":
            begun = self._held.lstrip()
            if begun.startswith(_OPEN):
                self._state, self._held = "thinking", begun[len(_OPEN) :]
            elif not _OPEN.startswith(begun):
                return self._release("answer")
        if self._state == "thinking":
            _, closed, rest = self._held.partition(_CLOSE)
            if not closed:
                self._held = self._held[-len(_CLOSE) :]
            else:
                self._state, self._held = "thought", rest
        if self._state == "thought":
            self._held = self._held.lstrip()
            if self._held:
                return self._release("answer")
        return ""

    def end(self) -> str:
        """Return what was held back in case it became a block and did not."""
        return self._release("answer") if self._state == "start" else ""

    def _release(self, state: str) -> str:
        held, self._held, self._state = self._held, "", state
        return held


def without_thinking(text: str) -> str:
    """Return a whole text without its leading block."""
    thinking = ThinkingFilter()
    return thinking.feed(text) + thinking.end()
