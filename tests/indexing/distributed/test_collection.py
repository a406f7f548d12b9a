"""Tests of the rows of a vector database."""

from __future__ import annotations

import numpy as np

from shrag.indexing.distributed.collection import Row, SparseVector, batches


def _row(stored: str) -> Row:
    vector = SparseVector(np.array([], dtype=np.uint32), np.array([], dtype=np.float32))
    return Row(0, "D1", 1, vector, None, stored, None, (), ())


def test_no_batch_is_larger_than_the_limit_but_of_a_row_that_is_larger_alone() -> None:
    rows = [_row("a" * size) for size in (3, 3, 3, 9, 1, 4)]
    divided = batches(rows, lambda row: len(row.stored), 5)
    assert [[len(row.stored) for row in batch] for batch in divided] == [[3], [3], [3], [9], [1, 4]]
    assert list(batches([], lambda row: len(row.stored), 5)) == []
