"""Errors of building, opening and searching an index."""

from __future__ import annotations


class IndexingError(Exception):
    """An index cannot be built or used; the message says what to do."""


class IndexMissing(IndexingError):
    """There is no index of that name."""


class IndexDamaged(IndexingError):
    """Files of the index are missing, truncated or changed since it was published."""


class IndexMismatch(IndexingError):
    """The index was built with a format, an analyzer or an encoder that this process does not have."""


class EncoderUnavailable(IndexMismatch):
    """The encoder of an index's vectors is missing, so questions cannot be compared with them."""


class UnknownEncoder(IndexingError):
    """There is no encoder of that name."""


class DependencyMissing(IndexingError):
    """A dependency (the Java runtime, the Lucene jar, Kiwi, FAISS) is not installed."""


class EngineUnavailable(IndexingError):
    """The vector database of a distributed engine is unreachable or slow, or refuses; the message names its address."""


class TooManyCandidates(IndexingError):
    """The best records are certain only with more candidates than a distributed engine can return."""


class TooManyRejectedRecords(IndexingError):
    """More records than allowed could not be analyzed; nothing was published."""


class DictionaryRejected(IndexingError):
    """A user dictionary is invalid; the message names the file, the line and the rule."""


class GlossaryRejected(IndexingError):
    """The user's file of glossary corrections is invalid."""
