"""SearchEngine protocol, hits and collection statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from shrag.indexing.query import Query
from shrag.indexing.record_filter import EVERY_RECORD, FacetCounts, RecordFilter
from shrag.messages.text import Text

EngineName = Literal["lucene", "pyserini", "milvus", "qdrant"]
"""``lucene`` is the default. ``pyserini`` searches the same index with Pyserini's classes. The others are vector
databases that an index is loaded into (:mod:`shrag.indexing.distributed`).
"""


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """A search engine and, for a vector database, how to reach it.

    Attributes:
        name: The engine.
        address: A vector database's address, or the path of its files on this machine.
        key: The key that the database asks for; empty if it asks for none.
        timeout: Seconds that a request to the database may take.
    """

    name: EngineName = "lucene"
    address: str = ""
    key: str = field(default="", repr=False)
    timeout: float = 10.0

    @property
    def is_distributed(self) -> bool:
        """Whether the engine is a vector database."""
        return self.name in {"milvus", "qdrant"}

    @property
    def lacks_address(self) -> Text | None:
        """What to say of a vector database without an address; None if the engine has all that it needs."""
        if self.address or not self.is_distributed:
            return None
        return Text(
            "The engine {engine} needs the address of its server: set engine_address in shrag.toml, "
            "SHRAG_ENGINE_ADDRESS or --engine-address.",
            engine=self.name,
        )


LUCENE = EngineChoice()
"""The default engine."""


class Hit(NamedTuple):
    """A document and its score. A larger score is better; scores of different queries cannot be compared."""

    docid: str
    score: float


@dataclass(frozen=True, slots=True)
class FieldStatistics:
    """Statistics of one field: the documents that have it, its mean length in terms, each term's document frequency."""

    documents: int
    average_length: float
    document_frequencies: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of two fields: ``contents`` is title and text together, ``title`` is the title alone."""

    contents: FieldStatistics
    title: FieldStatistics


class AuthorName(NamedTuple):
    """The name of an author in the form that is compared, and its words without accents and hyphens."""

    key: str
    words: frozenset[str]


class AuthorSearch(Protocol):
    """Finds documents by their authors. Safe to share between threads."""

    def newest_of_authors(
        self, names: Sequence[str], most: int, record_filter: RecordFilter = EVERY_RECORD
    ) -> list[str]:
        """Return the docids of the authors' records that pass the filter, the newest first, those without a year last.

        Records of one year are in the order of their docids.

        Args:
            names: Whole names, as the records have them. Letter case and repeated spaces do not matter.
            most: The largest number of docids to return.
            record_filter: The filter.
        """

    def facets_of_authors(self, names: Sequence[str], record_filter: RecordFilter) -> FacetCounts:
        """Count the authors' records by the values of their fields, as :meth:`SearchEngine.count_facets` counts hits.

        Names are given as for :meth:`newest_of_authors`.
        """

    def count_records(self, names: Sequence[str]) -> list[int]:
        """Return how many records each author has. Names are given as for :meth:`newest_of_authors`."""

    def names_with_word(self, word: str, most: int) -> list[AuthorName]:
        """Return names of authors that have a word.

        Args:
            word: The word. Letter case, accents and hyphens do not matter.
            most: The largest number of names to return.
        """


class SpellingSearch(Protocol):
    """Finds terms that are spelled like a term that no document has. Safe to share between threads."""

    def similar_terms(self, term: str, most: int) -> list[str]:
        """Return the terms that are spelled most like ``term``, the most frequent first.

        They occur in three documents or more, begin with the same letter and are one edit away (Damerau-Levenshtein).
        If there are none, terms two edits away are returned, provided that ``term`` has eight letters or more.

        Args:
            term: The term.
            most: The largest number of terms to return.
        """


class SearchEngine(Protocol):
    """Finds documents by terms. Safe to share between threads."""

    def search(self, queries: Sequence[Query], k: int, record_filter: RecordFilter = EVERY_RECORD) -> list[list[Hit]]:
        """Return for each query at most ``k`` hits that pass the filter, best first, ties by docid.

        A filter does not change the scores.
        """

    def count_hits(self, queries: Sequence[Query], most: int) -> list[int]:
        """Return the number of documents of the whole index that match each query, ``most`` at most."""

    def count_facets(self, queries: Sequence[Query], record_filter: RecordFilter) -> FacetCounts:
        """Return the counts over the documents that match any of the queries and pass the filter."""

    def statistics(self, terms: Sequence[str]) -> Statistics:
        """Return the statistics of the given terms; a term in no document has a document frequency of 0."""

    def frequencies(self, term: str, most: int) -> list[int]:
        """Return the frequency of ``term`` in the contents of at most ``most`` documents that have it."""
