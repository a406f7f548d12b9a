"""Conversion of documents, queries and conditions to the classes of Qdrant's client or of its core.

The argument ``types`` is the module of either of them. Both modules have classes of the same names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from shrag.indexing.distributed.collection import (
    Between,
    Condition,
    Every,
    Has,
    Part,
    Row,
    Some,
    SparseVector,
    StoredParts,
    Without,
    batches,
)

INDEXED = ("number", "docid_number", "year", "keys", "terms")
"""The fields that conditions compare; each is an integer or a list of integers."""

_MOST_ROWS_BYTES = 8 << 20
"""Most bytes of the records in one request; a server takes at most 32 MiB of JSON."""


def payload(row: Row) -> dict[str, Any]:
    """Return the fields that are stored of a document besides its vectors."""
    fields: dict[str, Any] = {
        "number": row.number,
        "docid": row.docid,
        "docid_number": row.docid_number,
        "keys": list(row.keys),
        "terms": list(row.terms),
        "stored": row.stored,
    }
    return fields if row.year is None else {**fields, "year": row.year}


def vectors(types: Any, row: Row) -> dict[str, Any]:  # noqa: ANN401 - a module
    """Return a document's vectors by name."""
    named: dict[str, Any] = {"sparse": sparse(types, row.sparse)}
    return named if row.dense is None else {**named, "dense": row.dense.tolist()}


def sparse(types: Any, vector: SparseVector) -> Any:  # noqa: ANN401 - a class of the module
    """Return a sparse vector."""
    return types.SparseVector(indices=vector.dimensions.tolist(), values=vector.weights.tolist())


def selected(parts: Sequence[Part]) -> tuple[list[str], list[str]]:
    """Return the names of the fields and of the vectors that hold these parts."""
    return [part for part in parts if part in {"docid", "stored"}], [
        part for part in parts if part in {"sparse", "dense"}
    ]


def stored_parts(point: Any) -> StoredParts:  # noqa: ANN401 - a class of either module
    """Return the parts of a document that were read."""
    fields, named = point.payload or {}, point.vector or {}
    found, dense = named.get("sparse"), named.get("dense")
    vector = None
    if found is not None:
        vector = SparseVector(np.array(found.indices, dtype=np.uint32), np.array(found.values, dtype=np.float32))
    return StoredParts(
        fields.get("docid", ""),
        vector,
        None if dense is None else np.asarray(dense, dtype=np.float32),
        fields.get("stored", ""),
    )


def request_batches(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Divide the rows into batches that each fit into one request."""
    return batches(rows, _request_size, _MOST_ROWS_BYTES)


def as_filter(types: Any, condition: Condition, interval: str) -> Any:  # noqa: ANN401 - a class of the module
    """Return a condition as a filter, None for everything; ``interval`` is the name of the class of ranges."""
    match condition:
        case Every(()):
            return None
        case Every(conditions):
            return types.Filter(must=[as_filter(types, each, interval) for each in conditions])
        case Some(conditions):
            return types.Filter(should=[as_filter(types, each, interval) for each in conditions])
        case Without(inner):
            return types.Filter(must_not=[as_filter(types, inner, interval)])
        case Has(field, values):
            met = types.FieldCondition(key=field, match=types.MatchAny(any=list(values)))
            return types.Filter(must=[met])
        case Between(field, first, last):
            span = getattr(types, interval)(gte=first, lte=last)
            return types.Filter(must=[types.FieldCondition(key=field, range=span)])


def _request_size(row: Row) -> int:
    return 2 * len(row.stored) + 40 * len(row.terms) + (0 if row.dense is None else 12 * len(row.dense))
