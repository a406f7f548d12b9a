"""Batches of texts by a token budget, made smaller when memory runs out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from shrag.models.errors import OutOfMemory


class TokenBudget:
    """How many tokens a batch may have, padding counted. Safe to share between threads; it only ever shrinks."""

    def __init__(self, tokens: int) -> None:
        if tokens < 1:
            raise ValueError(f"A budget must be at least 1 token, got {tokens}.")
        self._tokens = tokens
        self._lock = threading.Lock()

    @property
    def tokens(self) -> int:
        """The budget now."""
        return self._tokens

    def shrink(self, used: int) -> None:
        """Halve a batch of ``used`` tokens; nothing where another thread has made the budget that small already."""
        with self._lock:
            self._tokens = min(self._tokens, max(used // 2, 1))


def next_batch(lengths: Sequence[int], start: int, budget: int) -> range:
    """Return the places from ``start`` on that make one batch, at least one.

    A batch takes its longest text's length for each of its texts: the rest is padding, so ``lengths`` are best sorted.
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
    """Call ``run`` with one batch of places after another until all are done, each place once.

    Where ``run`` raises ``out_of_memory`` the budget is halved and the same texts are tried again in smaller batches.
    Raises :class:`OutOfMemory` where one text alone does not fit.
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
                    f"A text of {used} tokens does not fit into memory ({error}): free some, for instance by ending "
                    "what else uses the GPU."
                ) from None
            budget.shrink(used)
        else:
            start = batch.stop
