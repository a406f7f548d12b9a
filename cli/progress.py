"""Progress on stderr: a live line on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

_SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def progress(total: int | None = None) -> Iterator[Callable[[str, int], None]]:
    """Give a function to be told (what is being done, how much is done so far)."""
    console = Console(stderr=True)
    if console.is_terminal:
        yield from _live(console, total)
    else:
        yield from _plain(console, total)


def _live(console: Console, total: int | None) -> Iterator[Callable[[str, int], None]]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda stage, done: bar.update(task, description=stage, completed=done)


def _plain(console: Console, total: int | None) -> Iterator[Callable[[str, int], None]]:
    told = time.monotonic()

    def tell(stage: str, done: int) -> None:
        nonlocal told
        if time.monotonic() - told >= _SECONDS_BETWEEN_LINES:
            told = time.monotonic()
            console.print(f"{stage}: {done:,}" + (f" of {total:,}" if total else ""), highlight=False)

    yield tell
