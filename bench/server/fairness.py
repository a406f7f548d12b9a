"""Searches beside answers, and under twice the load that can be handled: ``python -m bench.server.fairness [NAME]``.

A server over the index NAME, without answer cache and language model, gets in alternating windows searches from 64
clients, and the same while a fifth of the clients asks for answers instead. Printed are the median search of both and
their ratio. With ``--overload SECONDS`` it then gets searches at twice the rate of the 64 clients for so long, whatever
becomes of them: printed are p99 of the admitted ones, of the 64 clients before and after, and the median refusal.

The figures to compare are of one run, since other work on the machine changes all of them alike.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import statistics
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bench.server.http_client import LoadResult, ask_concurrently, connection, percentile, post
from bench.server.load import TOPICS
from bench.server.served import processor_seconds, run_server
from shrag.corpora.formats.topics import read_topics

CLIENTS = 64
ASKING = CLIENTS // 5
WARM_SECONDS, PAUSE_SECONDS = 4, 1
OVERLOAD = 2.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="demo", help="the index (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of windows (%(default)s)")
    parser.add_argument("--seconds", type=int, default=8, help="of a window (%(default)s)")
    parser.add_argument("--overload", type=int, default=0, help="seconds of overload (%(default)s)")
    parser.add_argument("--topics", type=Path, nargs="+", default=[TOPICS], help="the questions: id TAB question")
    chosen = parser.parse_args()
    questions = [topic.text for path in chosen.topics for topic in read_topics(path)]
    with run_server(chosen.name, ["--no-cache"]) as server:
        asyncio.run(_searches(server.port, questions, CLIENTS, WARM_SECONDS))
        before = _compare(server.port, questions, chosen.rounds, chosen.seconds)
        if chosen.overload:
            rate = OVERLOAD * before.rate
            used = processor_seconds(server.process.pid)
            over = asyncio.run(_open_loop(server.port, questions, rate, chosen.overload))
            used = processor_seconds(server.process.pid) - used
            time.sleep(PAUSE_SECONDS)
            after = asyncio.run(_searches(server.port, questions, CLIENTS, chosen.seconds * chosen.rounds))
            usual = [percentile(seconds, 99) for seconds in (before.seconds, after.seconds)]
            slowest = percentile(over.admitted, 99)
            print(
                f"{rate:.0f} searches/s for {chosen.overload} s: {len(over.admitted)} admitted, {len(over.refused)} "
                f"refused, p50 {percentile(over.refused, 50) * 1e3:.1f} ms, wrong: {over.wrong}; {used:.0f} processor "
                f"seconds\np99 of the admitted {slowest:.3f} s, of {CLIENTS} clients before {usual[0]:.3f} s and after "
                f"{usual[1]:.3f} s: ratio {slowest / statistics.mean(usual):.2f}"
            )


def _compare(port: int, questions: Sequence[str], rounds: int, seconds: int) -> LoadResult:
    """Print the ratio of each round and of all; return the searches alone."""
    alone, mixed, ratios = LoadResult(), [], []
    for _ in range(rounds):
        searched = asyncio.run(_searches(port, questions, CLIENTS, seconds))
        time.sleep(PAUSE_SECONDS)
        beside, asked = asyncio.run(_beside_answers(port, questions, seconds))
        time.sleep(PAUSE_SECONDS)
        alone.seconds += searched.seconds
        alone.elapsed += searched.elapsed
        mixed += beside.seconds
        ratios.append(statistics.median(beside.seconds) / statistics.median(searched.seconds))
        print(
            f"alone: {searched}\nbeside: {beside}\nanswers: {asked}\nratio of the medians: {ratios[-1]:.2f}", flush=True
        )
    medians = statistics.median(alone.seconds), statistics.median(mixed)
    print(
        f"median search alone {medians[0]:.3f} s, beside answers {medians[1]:.3f} s: ratio "
        f"{medians[1] / medians[0]:.2f} (by round {', '.join(f'{each:.2f}' for each in sorted(ratios))})",
        flush=True,
    )
    return alone


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
    """Seconds of the admitted and of the refused searches, and the number of those that failed."""

    admitted: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    wrong: int = 0


async def _open_loop(port: int, questions: Sequence[str], rate: float, seconds: float) -> _Overloaded:
    """Search ``rate`` times a second, on connections that are used again, and wait for all responses."""
    result = _Overloaded()
    idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    seconds_of = {200: result.admitted, 429: result.refused}
    async with AsyncExitStack() as stack:

        async def search(question: str) -> None:
            started = time.perf_counter()
            try:
                opened = idle.pop() if idle else await stack.enter_async_context(connection(port))
                status, _ = await post(*opened, "/v1/search", {"question": question})
            except (OSError, EOFError, TimeoutError):
                result.wrong += 1
                return
            idle.append(opened)
            if status in seconds_of:
                seconds_of[status].append(time.perf_counter() - started)
            else:
                result.wrong += 1

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
