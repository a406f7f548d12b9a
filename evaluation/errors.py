"""What can go wrong between topics and a table."""

from __future__ import annotations


class EvaluationError(Exception):
    """A run cannot be made or judged; the message says what to do about it."""
