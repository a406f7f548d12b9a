"""Errors of background threads: they are logged, counted and shown by health checks.

A thread that repeats its work goes on after an error.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_log = logging.getLogger("shrag.serving.background")


class BackgroundErrors:
    """The unexpected errors of this process's background work, by the name of the task. Thread-safe.

    Names of tasks are labels of a metric, so they must be few and fixed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._failing: dict[str, str] = {}

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of errors of each task since the start."""
        with self._lock:
            return dict(self._counts)

    @property
    def problem(self) -> str:
        """What fails now; empty if the last pass of every task had no error."""
        with self._lock:
            return "; ".join(f"{task}: {message}" for task, message in sorted(self._failing.items()))

    @contextmanager
    def watch(self, task: str) -> Iterator[None]:
        """Record an error of the ``with`` block instead of raising it. The block is one pass of ``task``."""
        try:
            yield
        except Exception as error:
            self.record(task, error)
        else:
            with self._lock:
                self._failing.pop(task, None)

    def record(self, task: str, error: BaseException) -> None:
        """Count an error of ``task``, and log it unless the last pass had the same error."""
        message = f"{type(error).__name__}: {error}"
        with self._lock:
            self._counts[task] += 1
            is_known = self._failing.get(task) == message
            self._failing[task] = message
        if not is_known:
            _log.error("background task failed", exc_info=error, extra={"fields": {"task": task}})


BACKGROUND = BackgroundErrors()
"""The errors of this process."""


def record_ended_threads() -> None:
    """Record each error that ends a thread, as the task ``thread``; Python would only print it on stderr."""

    def record(ended: threading.ExceptHookArgs) -> None:
        if ended.exc_value is not None:
            BACKGROUND.record("thread", ended.exc_value)

    threading.excepthook = record
