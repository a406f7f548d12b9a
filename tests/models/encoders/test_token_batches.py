from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.models.encoders.network import TokenBudget, next_batch, run_batches
from shrag.models.errors import OutOfMemory


def test_a_batch_takes_its_longest_texts_length_for_each() -> None:
    lengths = [10, 9, 9, 2, 2]
    assert next_batch(lengths, 0, 30) == range(3)
    assert next_batch(lengths, 0, 29) == range(2)
    assert next_batch(lengths, 3, 29) == range(3, 5)
    assert next_batch([2, 10], 0, 19) == range(1)


def test_a_text_beyond_the_budget_is_a_batch_of_its_own() -> None:
    assert next_batch([100, 1], 0, 10) == range(1)


@given(st.lists(st.integers(1, 50)), st.integers(1, 100))
def test_every_text_is_in_one_batch_in_order_and_none_is_larger_than_the_budget(
    lengths: list[int], budget: int
) -> None:
    batches: list[range] = []
    run_batches(lengths, TokenBudget(budget), batches.append, MemoryError)
    assert list(chain.from_iterable(batches)) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[batch.start : batch.stop]) <= budget


@given(st.lists(st.integers(1, 30), min_size=1), st.integers(30, 60))
def test_out_of_memory_halves_the_batch_for_good_and_loses_no_text(lengths: list[int], memory: int) -> None:
    lengths = sorted(lengths, reverse=True)
    budget = TokenBudget(10_000)
    done: list[int] = []

    def run(batch: range) -> None:
        if len(batch) * lengths[batch.start] > memory:
            raise MemoryError
        done.extend(batch)

    run_batches(lengths, budget, run, MemoryError)
    assert done == list(range(len(lengths)))
    tries = len(done)
    run_batches(lengths, budget, run, MemoryError)
    assert len(done) == 2 * tries


def test_the_budget_is_halved_from_what_did_not_fit() -> None:
    budget, sizes = TokenBudget(1_000), []

    def run(batch: range) -> None:
        sizes.append(len(batch))
        if len(batch) > 2:
            raise MemoryError

    run_batches([10] * 8, budget, run, MemoryError)
    assert sizes == [8, 4, 2, 2, 2, 2]
    assert budget.tokens == 20


def test_one_text_that_does_not_fit_is_an_error() -> None:
    def run(batch: range) -> None:
        raise MemoryError("no room")

    with pytest.raises(OutOfMemory, match=r"A text of 70 tokens does not fit into memory \(no room\)"):
        run_batches([70, 3], TokenBudget(1_000), run, MemoryError)


def test_other_errors_are_not_caught() -> None:
    def run(batch: range) -> None:
        raise KeyError

    with pytest.raises(KeyError):
        run_batches([1], TokenBudget(1), run, MemoryError)
