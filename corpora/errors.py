"""What can go wrong on the way from a raw file to a stored corpus."""

from __future__ import annotations


class CorpusError(Exception):
    """A source, a record or a stored corpus cannot be used; the message says what to do about it."""


class RejectedLine(CorpusError):
    """One line of a source is not a record. Carries the reason alone: where the line stands is the reader's to add."""


class TooManyRejectedLines(CorpusError):
    """More lines were rejected than the caller allowed, so nothing was stored."""


class ConflictingRecords(CorpusError):
    """One identifier stands with different contents, and the caller did not say which to keep; nothing was stored."""


class UnaccountedLines(CorpusError):
    """What was read and what would be stored do not add up; nothing was stored. Never the source's fault."""
