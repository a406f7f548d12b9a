"""Asking many questions at once, and having their outcomes in the order of the questions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from shrag.corpora.records import Topic
from shrag.evaluation.outcome import Asked

_AHEAD = 16
"""Questions handed to the threads before the first outcome is taken: enough to keep four busy."""


def ask_all(
    ask: Callable[[Topic], Asked], topics: Sequence[Topic], pool: ThreadPoolExecutor
) -> Generator[Asked, None, None]:
    """Yield the outcome of each topic, in their order, asked by the threads of ``pool``.

    An engine keeps nothing of a question, so that the outcomes do not depend on the number of threads. What ``ask``
    raises is raised at its place; those behind it are then not begun, and none is at work any more.
    """
    waiting: deque[Future[Asked]] = deque()
    try:
        for topic in topics:
            waiting.append(pool.submit(ask, topic))
            if len(waiting) > _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
        wait(waiting)
