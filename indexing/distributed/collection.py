"""Protocols of a vector database and its collections, and the rows, conditions and hits that they exchange.

A condition is a tree of integers only. Text from a user, such as an author's name, is compared by its
:func:`value_number`, so no text becomes part of an expression in a database's filter language.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from shrag.models.encoder import Vectors

IntegerField = Literal["number", "docid_number", "year", "keys", "terms"]
"""Integers of a document: its number, its docid's number, its year, and the numbers of its values and its terms."""

Part = Literal["docid", "sparse", "dense", "stored"]
"""A part of a document that can be read."""

MOST_HITS = 16_384
"""Most documents that one search or read returns: Milvus's limit."""

HNSW_LINKS = 32
"""Links of a node in the HNSW index of the dense vectors (``M``)."""

HNSW_BUILD_WIDTH = 360
"""Candidates that are kept while a node is added to the HNSW index (``ef_construction``)."""


class SparseVector(NamedTuple):
    """Dimensions in ascending order, ``uint32[n]``, and their weights, ``float32[n]``."""

    dimensions: NDArray[np.uint32]
    weights: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Has:
    """Documents that have any of the values in a field."""

    field: IntegerField
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """Documents with a value from ``first`` to ``last``, both included."""

    field: IntegerField
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Every:
    """Documents that meet every condition; without conditions, all documents."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """Documents that meet at least one of the conditions. There must be at least one condition."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Without:
    """Documents that do not meet the condition."""

    condition: Condition


Condition = Has | Between | Every | Some | Without

EVERYTHING = Every(())
"""The condition that every document meets."""


class Row(NamedTuple):
    """A document to be stored.

    Attributes:
        number: Its number in the index, from 0; the database's identifier.
        docid: Its identifier.
        docid_number: The docid's :func:`value_number`.
        sparse: The sparse vector of its terms.
        dense: Its dense vector, None in a collection without vectors.
        stored: The record with its terms, for :func:`~shrag.indexing.analyzed_record.decode_record`.
        year: Its year for filters, None without one.
        keys: The :func:`value_number` of each of its values for filters.
        terms: The numbers of its terms.
    """

    number: int
    docid: str
    docid_number: int
    sparse: SparseVector
    dense: NDArray[np.float32] | None
    stored: str
    year: int | None
    keys: tuple[int, ...]
    terms: tuple[int, ...]


def batches(rows: Sequence[Row], size_of: Callable[[Row], int], most: int) -> Iterator[list[Row]]:
    """Divide the rows into batches of at most the size ``most``; a row that is larger has one of its own."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        own = size_of(row)
        if batch and size + own > most:
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += own
    if batch:
        yield batch


class StoredParts(NamedTuple):
    """The parts of a document that were read; parts that were not asked for are empty."""

    docid: str = ""
    sparse: SparseVector | None = None
    dense: NDArray[np.float32] | None = None
    stored: str = ""


Scored = list[tuple[int, float]]
"""Numbers of documents with their inner products, best first."""


class Collection(Protocol):
    """The documents of one generation of an index. Thread-safe.

    Every method raises :class:`~shrag.indexing.errors.EngineUnavailable` if the database does not answer in time.
    """

    def upsert(self, rows: Sequence[Row]) -> None:
        """Store documents, and replace those that exist already."""

    def finish(self) -> None:
        """Write the stored documents to the disk and build the indexes; return when all can be searched."""

    def search(self, queries: Sequence[SparseVector], k: int, condition: Condition = EVERYTHING) -> list[Scored]:
        """Return for each query the ``k`` documents with the largest inner products above 0, in one request."""

    def search_dense(self, queries: Vectors, k: int, condition: Condition = EVERYTHING) -> list[Scored]:
        """Return for each vector the ``k`` documents with the largest inner products, in one request."""

    def read(self, numbers: Sequence[int], parts: Sequence[Part]) -> dict[int, StoredParts]:
        """Return those documents with these numbers that exist. At most :data:`MOST_HITS` can be read at a time."""

    def find(self, condition: Condition, most: int) -> list[int]:
        """Return the numbers of at most ``most`` documents that meet the condition, in no particular order."""

    def count(self, condition: Condition = EVERYTHING) -> int:
        """Return how many documents meet the condition, among all documents that were stored before the call."""


class VectorDatabase(Protocol):
    """Collections by name, and aliases. Thread-safe; raises as :class:`Collection` does."""

    def create(self, name: str, dimension: int) -> Collection:
        """Return the collection of that name, and create it if needed; ``dimension`` 0 stands for no dense vectors."""

    def open(self, name: str) -> Collection | None:
        """Return the collection of that name, None if there is none."""

    def target(self, alias: str) -> str:
        """Return the name of the collection that an alias points to, empty if there is no such alias."""

    def point(self, alias: str, name: str) -> None:
        """Make an alias point to a collection, in one step."""

    def drop(self, name: str) -> None:
        """Delete a collection, if there is one of that name."""

    def close(self) -> None:
        """Close the connection, or the files."""


def hnsw_search_width(k: int) -> int:
    """Return how many candidates are kept while the HNSW index is searched for ``k`` neighbors (``ef``)."""
    return max(4 * k, 400)


def value_number(*texts: str) -> int:
    """Return 63 bits of a digest of texts, by which they are compared.

    Among 10^9 different values, the probability that a given one shares its number with another is 10^-10.
    """
    digest = hashlib.blake2b(digest_size=8)
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return int.from_bytes(digest.digest(), "little") >> 1
