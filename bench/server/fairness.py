"""Times of searches beside answers and under overload: ``python -m bench.server.fairness [NAME]``.

A server over the index NAME runs without answer cache and language model. In one window it gets searches from 64
clients. In the next window a fifth of the clients ask for answers instead. The output is the median time of the
searches in both, and their ratio.

With ``--overload``, each window of 64 clients is followed by one in which searches are sent at twice their rate,
whether or not earlier ones are answered. The output is p99 of the admitted searches and of the 64 clients, their ratio,
and the median time of a refusal.

Other work on the machine changes all figures. So the windows alternate, and only figures of one run can be compared.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bench.server.http_client import LoadResult, ask_concurrently, connection, percentile, post
from bench.server.load import TOPICS
from bench.server.served import run_server
from shrag.corpora.formats.topics import read_topics

CLIENTS = 64
ASKING = CLIENTS // 5
WARM_SECONDS, PAUSE_SECONDS = 4, 1
OVERLOAD = 2.0
IDLE_SECONDS = 4.0
"""Seconds after which an idle connection is not used again, since the server closes it after five seconds."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="demo", help="the index (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of windows (%(default)s)")
    parser.add_argument("--seconds", type=int, default=8, help="of a window (%(default)s)")
    parser.add_argument("--overload", action="store_true", help="measure overload instead of answers")
    parser.add_argument("--topics", type=Path, nargs="+", default=[TOPICS], help="the questions: id TAB question")
    chosen = parser.parse_args()
    questions = [topic.text for path in chosen.topics for topic in read_topics(path)]
    with run_server(chosen.name, ["--no-cache"]) as server:
        asyncio.run(_searches(server.port, questions, CLIENTS, WARM_SECONDS))
        measure = _compare_overload if chosen.overload else _compare_answers
        measure(server.port, questions, chosen.rounds, chosen.seconds)


def _compare_answers(port: int, questions: Sequence[str], rounds: int, seconds: int) -> None:
    """Print the times of searches alone and beside answers for each round, and the medians over all."""
    alone, beside = _Windows(50), _Windows(50)
    for _ in range(rounds):
        searched = asyncio.run(_searches(port, questions, CLIENTS, seconds))
        time.sleep(PAUSE_SECONDS)
        mixed, asked = asyncio.run(_beside_answers(port, questions, seconds))
        time.sleep(PAUSE_SECONDS)
        alone.add(searched.seconds)
        beside.add(mixed.seconds)
        print(f"alone: {searched}\nbeside: {mixed}\nanswers: {asked}", flush=True)
    print(f"median search: {beside.compared_with(alone)}")


def _compare_overload(port: int, questions: Sequence[str], rounds: int, seconds: int) -> None:
    """Print the times of 64 clients and of searches at twice their rate for each round, and p99 over all."""
    usual, admitted, refused = _Windows(99), _Windows(99), _Windows(50)
    for _ in range(rounds):
        searched = asyncio.run(_searches(port, questions, CLIENTS, seconds))
        time.sleep(PAUSE_SECONDS)
        over = asyncio.run(_open_loop(port, questions, OVERLOAD * searched.rate, seconds))
        time.sleep(PAUSE_SECONDS)
        usual.add(searched.seconds)
        admitted.add(over.admitted)
        refused.add(over.refused)
        print(
            f"{CLIENTS} clients: {searched}\n{OVERLOAD * searched.rate:.0f} a second: {len(over.admitted)} admitted, "
            f"{len(over.refused)} refused, p50 {percentile(over.refused, 50) * 1e3:.1f} ms, wrong: {dict(over.wrong)}",
            flush=True,
        )
    print(f"p99 of the admitted: {admitted.compared_with(usual)}; refusal p50 {refused.value * 1e3:.1f} ms")


@dataclass(slots=True)
class _Windows:
    """Response times in seconds from several windows. Their percentile ``share`` is compared."""

    share: int
    all_seconds: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    @property
    def value(self) -> float:
        """The percentile over all windows."""
        return percentile(self.all_seconds, self.share)

    def add(self, seconds: Sequence[float]) -> None:
        """Add a window."""
        self.all_seconds += seconds
        self.values.append(percentile(seconds, self.share))

    def compared_with(self, usual: _Windows) -> str:
        """Return both percentiles and their ratio, over all windows and by window."""
        ratios = sorted(here / there for here, there in zip(self.values, usual.values, strict=True))
        by_round = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        ratio = self.value / usual.value
        return f"{self.value:.3f} s, usually {usual.value:.3f} s: ratio {ratio:.2f} (by round {by_round})"


async def _searches(port: int, questions: Sequence[str], clients: int, seconds: float) -> LoadResult:
    turn = itertools.cycle(questions)
    return await ask_concurrently(port, "/v1/search", clients, seconds, lambda: {"question": next(turn)}, lambda *_: "")


async def _beside_answers(port: int, questions: Sequence[str], seconds: float) -> tuple[LoadResult, LoadResult]:
    turn = itertools.cycle(questions)
    return await asyncio.gather(
        _searches(port, questions, CLIENTS - ASKING, seconds),
        ask_concurrently(port, "/v1/ask", ASKING, seconds, lambda: {"question": next(turn)}, lambda *_: ""),
    )


@dataclass(slots=True)
class _Overloaded:
    """Response times of the admitted and of the refused searches in seconds, and the failures of the others."""

    admitted: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    wrong: Counter[str] = field(default_factory=Counter)


async def _open_loop(port: int, questions: Sequence[str], rate: float, seconds: float) -> _Overloaded:
    """Send ``rate`` searches per second over reused connections, and wait for all responses."""
    result = _Overloaded()
    idle: list[tuple[float, tuple[asyncio.StreamReader, asyncio.StreamWriter]]] = []  # with the time of the last use
    seconds_of = {200: result.admitted, 429: result.refused}
    async with AsyncExitStack() as stack:

        async def search(question: str) -> None:
            started = time.perf_counter()
            try:
                used, opened = idle.pop() if idle else (0.0, None)
                if opened is None or used < started - IDLE_SECONDS:
                    opened = await stack.enter_async_context(connection(port))
                status, _ = await post(*opened, "/v1/search", {"question": question})
            except (OSError, EOFError, TimeoutError) as error:
                result.wrong[type(error).__name__] += 1
                return
            idle.append((time.perf_counter(), opened))
            if status in seconds_of:
                seconds_of[status].append(time.perf_counter() - started)
            else:
                result.wrong[str(status)] += 1

        await _at_rate(rate, seconds, questions, search)
    return result


async def _at_rate(
    rate: float, seconds: float, questions: Sequence[str], search: Callable[[str], Coroutine[None, None, None]]
) -> None:
    started = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for number in range(int(rate * seconds)):
            await asyncio.sleep(max(0.0, started + number / rate - time.perf_counter()))
            tasks.create_task(search(questions[number % len(questions)]))


if __name__ == "__main__":
    main()
