"""Errors of background threads: logged, counted, shown by health checks; a thread that repeats its work goes on."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_log = logging.getLogger("shrag.serving.background")


class BackgroundErrors:
    """The unexpected errors of this process's background work, by the name of the task. Thread-safe.

    The names are few and fixed, since they are labels of a metric.
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
        """What fails now; empty where the last pass of every task was without an error."""
        with self._lock:
            return "; ".join(f"{task}: {message}" for task, message in sorted(self._failing.items()))

    @contextmanager
    def watch(self, task: str) -> Iterator[None]:
        """Record an error of the ``with`` block, one pass of ``task``, instead of raising it."""
        try:
            yield
        except Exception as error:
            self.record(task, error)
        else:
            with self._lock:
                self._failing.pop(task, None)

    def record(self, task: str, error: BaseException) -> None:
        """Count an error of ``task``, and log it unless its last pass failed in the same way."""
        message = f"{type(error).__name__}: {error}"
        with self._lock:
            self._counts[task] += 1
            is_known = self._failing.get(task) == message
            self._failing[task] = message
        if not is_known:
            _log.error("background task failed", exc_info=error, extra={"fields": {"task": task}})


BACKGROUND = BackgroundErrors()
"""Those of this process."""


def record_ended_threads() -> None:
    """Record the error of every thread that ends with one, as the task ``thread``; else Python prints it on stderr."""

    def record(ended: threading.ExceptHookArgs) -> None:
        if ended.exc_value is not None:
            BACKGROUND.record("thread", ended.exc_value)

    threading.excepthook = record
