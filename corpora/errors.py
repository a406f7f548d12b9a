"""Errors of reading, adding and opening a corpus."""

from __future__ import annotations


class CorpusError(Exception):
    """A source, a record or a stored corpus cannot be used; the message says what to do."""


class ConfigurationRejected(Exception):
    """A configuration file cannot be read or has a wrong value; the message names the file and the fault."""


class RejectedLine(CorpusError):
    """An item of a source is not a record; the message is only the reason, without the item's position."""


class TooManyRejectedLines(CorpusError):
    """More lines were rejected than allowed; nothing was stored."""


class ConflictingRecords(CorpusError):
    """Two records with one identifier differ, and the caller did not choose one of them; nothing was stored."""


class UnaccountedLines(CorpusError):
    """The lines read and the records written do not add up; nothing was stored. This is a bug, not a faulty source."""
