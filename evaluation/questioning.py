"""Asking many questions at once, and having their outcomes in the order of the questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from shrag.corpora.records import Topic
from shrag.evaluation.outcome import Asked

_AHEAD = 4
"""Questions that may wait for each thread: enough to keep it busy, few enough to hold their outcomes in memory."""


def ask_all(ask: Callable[[Topic], Asked], topics: Sequence[Topic], threads: int) -> Iterator[Asked]:
    """Yield the outcome of each topic, in their order, asked by ``threads`` threads.

    An engine keeps nothing of a question, so that the outcomes do not depend on the number of threads. What ``ask``
    raises is raised at its place; questions that have not begun are then not asked.
    """
    if threads == 1:
        yield from map(ask, topics)
        return
    pool = ThreadPoolExecutor(threads, thread_name_prefix="question")
    waiting: list[Future[Asked]] = []
    try:
        for topic in topics:
            waiting.append(pool.submit(ask, topic))
            if len(waiting) > threads * _AHEAD:
                yield waiting.pop(0).result()
        while waiting:
            yield waiting.pop(0).result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
