"""IndexingError and its subclasses."""

from __future__ import annotations


class IndexingError(Exception):
    """An index cannot be built or used; the message says what to do about it."""


class IndexMissing(IndexingError):
    """There is no index of that name."""


class IndexDamaged(IndexingError):
    """Files of the index are missing, cut, or changed since it was sealed."""


class IndexMismatch(IndexingError):
    """The index is whole, but was made by parts that this process does not have."""


class EncoderUnavailable(IndexMismatch):
    """The encoder that made an index's vectors is not here, so that nothing can be compared with them."""


class UnknownEncoder(IndexingError):
    """There is no encoder of that name."""


class DependencyMissing(IndexingError):
    """A part that indexing needs (the Java runtime, the Lucene jar, Kiwi) is not installed."""


class TooManyRejectedRecords(IndexingError):
    """More records have no analysis than the caller allowed, so nothing was published."""


class DictionaryRejected(IndexingError):
    """A user dictionary breaks a rule; the message names the file, the line and the rule."""


class GlossaryRejected(IndexingError):
    """The user's file of glossary corrections cannot be read."""
