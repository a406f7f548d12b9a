"""Batch texts under a token budget, which shrinks when memory runs out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from shrag.models.errors import OutOfMemory


class TokenBudget:
    """The most tokens of a batch, padding included. Thread-safe; it never grows."""

    def __init__(self, tokens: int) -> None:
        if tokens < 1:
            raise ValueError(f"A budget must be at least 1 token, got {tokens}.")
        self._tokens = tokens
        self._lock = threading.Lock()

    @property
    def tokens(self) -> int:
        """The current budget."""
        return self._tokens

    def shrink(self, used: int) -> None:
        """Lower the budget to half of ``used`` tokens, unless another thread has already done so."""
        with self._lock:
            self._tokens = min(self._tokens, max(used // 2, 1))


def next_batch(lengths: Sequence[int], start: int, budget: int) -> range:
    """Return the indices of the batch that begins at ``start``; it has at least one text.

    Every text of a batch is padded to the longest one, so ``lengths`` should be sorted.
    """
    longest, stop = 0, start
    while stop < len(lengths):
        longest = max(longest, lengths[stop])
        if stop > start and longest * (stop - start + 1) > budget:
            break
        stop += 1
    return range(start, stop)


def run_batches(
    lengths: Sequence[int], budget: TokenBudget, run: Callable[[range], None], out_of_memory: type[BaseException]
) -> None:
    """Call ``run`` with the indices of one batch after another; ``lengths`` are the texts' numbers of tokens.

    Where ``run`` raises ``out_of_memory``, the budget is halved and the batch run again. Raises :class:`OutOfMemory`
    where one text alone does not fit.
    """
    start = 0
    while start < len(lengths):
        batch = next_batch(lengths, start, budget.tokens)
        try:
            run(batch)
        except out_of_memory as error:
            used = len(batch) * max(lengths[batch.start : batch.stop])
            if len(batch) == 1:
                raise OutOfMemory(
                    f"A text of {used} tokens does not fit into memory ({error}): free some, for example by ending "
                    "other programs that use the GPU."
                ) from None
            budget.shrink(used)
        else:
            start = batch.stop
