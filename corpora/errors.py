"""Errors of reading, adding and opening a corpus."""

from __future__ import annotations


class CorpusError(Exception):
    """A source, a record or a stored corpus cannot be used; the message says what to do."""


class ConfigurationRejected(Exception):
    """A configuration file cannot be read, or has a wrong value; the message names both."""


class RejectedLine(CorpusError):
    """An item of a source is no record; the message is the reason alone, without its position."""


class TooManyRejectedLines(CorpusError):
    """More lines were rejected than allowed; nothing was stored."""


class ConflictingRecords(CorpusError):
    """An identifier has two different contents, and the caller did not choose one; nothing was stored."""


class UnaccountedLines(CorpusError):
    """Lines read and records written do not add up; nothing was stored. This is a bug, never the source's fault."""
