"""SearchEngine protocol, hits and collection statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from shrag.indexing.query import Query


class Hit(NamedTuple):
    """A document and its score; larger is better, and scores of different queries do not compare."""

    docid: str
    score: float


@dataclass(frozen=True, slots=True)
class FieldStatistics:
    """One field over the whole index: how many documents have it, their mean length in terms, and each term's df."""

    documents: int
    average_length: float
    document_frequencies: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Statistics:
    """``contents`` is title and text together, ``title`` the title alone."""

    contents: FieldStatistics
    title: FieldStatistics


class SearchEngine(Protocol):
    """Finds documents by terms. Safe to share between threads."""

    def search(self, queries: Sequence[Query], k: int) -> list[list[Hit]]:
        """Return at most ``k`` hits for each query, best first, ties by docid."""

    def statistics(self, terms: Sequence[str]) -> Statistics:
        """Return the statistics of the given terms; a term in no document has a document frequency of 0."""

    def frequencies(self, term: str, most: int) -> list[int]:
        """Return how often each document that has ``term`` has it in its contents, for ``most`` of them at most."""
