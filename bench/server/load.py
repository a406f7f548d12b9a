"""Load test of the server on loopback (``make load``).

    python -m bench.server.load [--seconds N] [--clients N] [NAME]

A server over the index NAME runs without answer cache. It gets each question alone first, then the questions of CLIENTS
concurrent clients. Four of five clients search; one of five asks and reads the stream to its end. Every response is
compared with the response to the same question alone. The output is requests per second, p50/p95/p99, failures, mean
memory of the first and the last third, and the server's own share of the median search (all but Lucene and vectors).
There is no language model, so answers are extractive. The exit status is 1 if a response was wrong or memory grew.

``--pyserini PYTHON`` also compares with Pyserini's server over the same terms of the same passages, in alternating
windows. PYTHON is an interpreter that can import ``pyserini.server.rest``. There are three comparisons:

- without caching;
- with questions repeated by Zipf's law, which SHRAG answers from its cache;
- with Pyserini's functions doing the work of the strategy ``shrag``: its queries, the records of their hits, and a
  re-ranking.

Responses per processor second make the servers comparable while other work shares the machine. Refusals (429) are not
counted as failures.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.data import DEMO, home
from bench.server.http_client import LoadResult, ask_concurrently, connection, post, run_load
from bench.server.pyserini_comparison import (
    PATH,
    SAME_WORK,
    build_pyserini,
    pyserini_bodies,
    pyserini_server,
    same_work_bodies,
)
from bench.server.served import RunningServer, processor_seconds, run_server
from shrag.corpora.formats.topics import read_topics
from shrag.serving.engine import open_engine

TOPICS = DEMO / "topics.tsv"
MOST_SECONDS, MOST_CLIENTS = 1_800, 512
STREAM_SHARE = 5
REFERENCE_QUESTIONS = 150
"""Number of questions; each is asked alone first, then under load."""

ROUNDS, WINDOW_SECONDS, WARM_SECONDS, PAUSE_SECONDS = 5, 8, 4, 1
REPEATED = 10_000
PYSERINI_PORT = 8392
SAME_WORK_QUESTIONS = 600
MOST_GROWTH = 1.10
"""Largest allowed ratio of mean memory, last third to first. Java's heap grows a little in a short run."""

_VARYING_FIELDS = {"seconds", "request_id", "cached"}


def main() -> None:
    """Measure and print. Exit with status 1 if a response was wrong or memory grew."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="demo", help="the index (%(default)s)")
    parser.add_argument("--seconds", type=int, default=30, help=f"of load, at most {MOST_SECONDS} (%(default)s)")
    parser.add_argument("--clients", type=int, default=64, help=f"at most {MOST_CLIENTS} (%(default)s)")
    parser.add_argument(
        "--topics", type=Path, nargs="+", default=[TOPICS], help="the questions, one line each: id TAB question"
    )
    parser.add_argument("--pyserini", type=Path, help="a Python with Pyserini and its dependencies")
    parser.add_argument("--server-options", default="", help="options of shrag-serve, in one string")
    chosen = parser.parse_args()
    seconds, clients = min(chosen.seconds, MOST_SECONDS), min(chosen.clients, MOST_CLIENTS)
    questions = [topic.text for path in chosen.topics for topic in read_topics(path)]
    random.Random(1).shuffle(questions)
    options = chosen.server_options.split()
    passed = measure_load(chosen.name, questions, seconds, clients, options)
    if chosen.pyserini:
        compare_with_pyserini(chosen.name, chosen.pyserini, questions, clients, options)
    raise SystemExit(0 if passed else 1)


def measure_load(name: str, questions: Sequence[str], seconds: int, clients: int, options: Sequence[str]) -> bool:
    """Ask each question alone, then from all clients; return whether responses were right and memory did not grow."""
    with run_server(name, ["--no-cache", *options]) as server:
        alone = asyncio.run(_ask_alone(server.port, questions[:REFERENCE_QUESTIONS]))
        server.searches.clear()
        again = asyncio.run(_search(server.port, alone, 1, WARM_SECONDS))
        print(f"search, 1 client: {again}")
        print(f"the server's own share of a search, 1 client: median {server.own_share():.2f} ms", flush=True)
        memory: list[float] = []
        stop = threading.Event()
        watching = threading.Thread(target=_watch, args=(server, memory, stop))
        watching.start()
        streams = max(1, clients // STREAM_SHARE)
        searched, asked = asyncio.run(_mixed(server.port, alone, clients - streams, streams, seconds))
        stop.set()
        watching.join()
        print(f"search, {clients - streams} clients: {searched}")
        print(f"ask, streamed, {streams} clients: {asked}")
    third = max(1, len(memory) // 3)
    first, last = statistics.mean(memory[:third]), statistics.mean(memory[-third:])
    print(f"memory: {first:.0f} MiB in the first third, {last:.0f} MiB in the last", flush=True)
    return not (again.wrong or searched.wrong or asked.wrong) and last <= MOST_GROWTH * first


@dataclass(frozen=True)
class ReferenceAnswers:
    """Responses to each question alone, of searches and of streamed answers, without the fields that vary."""

    search: Mapping[str, object]
    stream: Mapping[str, object]


async def _ask_alone(port: int, questions: Sequence[str]) -> ReferenceAnswers:
    search: dict[str, object] = {}
    stream: dict[str, object] = {}
    async with connection(port) as (reader, writer):
        for question in questions:
            for path, asked, answers, read in (
                ("/v1/search", {"question": question}, search, _read_search),
                ("/v1/ask", {"question": question, "stream": True}, stream, _read_stream),
            ):
                status, body = await post(reader, writer, path, asked)
                if status != 200:
                    raise SystemExit(f"{path} answered {status} to {question!r}: {body[:300]!r}")
                answers[question] = read(body)
    return ReferenceAnswers(search, stream)


async def _mixed(
    port: int, alone: ReferenceAnswers, searching: int, asking: int, seconds: int
) -> tuple[LoadResult, LoadResult]:
    return await asyncio.gather(_search(port, alone, searching, seconds), _ask(port, alone, asking, seconds))


async def _search(port: int, alone: ReferenceAnswers, clients: int, seconds: float) -> LoadResult:
    turn = itertools.cycle(alone.search)

    def judge(asked: object, body: bytes) -> str:
        return "" if _read_search(body) == alone.search[_question(asked)] else "another answer than alone"

    return await ask_concurrently(port, "/v1/search", clients, seconds, lambda: {"question": next(turn)}, judge)


async def _ask(port: int, alone: ReferenceAnswers, clients: int, seconds: float) -> LoadResult:
    turn = itertools.cycle(alone.stream)

    def judge(asked: object, body: bytes) -> str:
        return "" if _read_stream(body) == alone.stream[_question(asked)] else "another answer than alone"

    return await ask_concurrently(
        port, "/v1/ask", clients, seconds, lambda: {"question": next(turn), "stream": True}, judge
    )


def _question(asked: object) -> str:
    assert isinstance(asked, dict)
    return str(asked["question"])


def _read_search(body: bytes) -> object:
    return _comparable(json.loads(body))


def _read_stream(body: bytes) -> object:
    """Return the events of a stream in order, then ``complete`` or ``cut``. Invalid JSON raises ``ValueError``."""
    events = [block.split("\n") for block in body.decode().strip().split("\n\n")]
    read = [
        (
            line.partition(": ")[0],
            _comparable(json.loads(line.partition(": ")[2])) if line.startswith("data:") else line,
        )
        for lines in events
        for line in lines
    ]
    return [*read, "complete" if b"event: timings" in body[-2_000:] else "cut"]


def _comparable(value: object) -> object:
    if isinstance(value, dict):
        return {key: _comparable(part) for key, part in value.items() if key not in _VARYING_FIELDS}
    return [_comparable(part) for part in value] if isinstance(value, list) else value


def _watch(server: RunningServer, memory: list[float], stop: threading.Event) -> None:
    while not stop.wait(0.5):
        memory.append(server.memory())


def compare_with_pyserini(
    name: str, python: Path, questions: Sequence[str], clients: int, options: Sequence[str]
) -> None:
    """Load SHRAG's and Pyserini's servers in turn with the same questions and passages; print the ratios."""
    engine = open_engine(home() / "indexes", name)
    repeated = _zipf_sample(questions)
    with tempfile.TemporaryDirectory() as scratch:
        index = build_pyserini(engine, Path(scratch))
        theirs = {"worked out": pyserini_bodies(engine, questions), "repeated": pyserini_bodies(engine, repeated)}
        whole = same_work_bodies(engine, questions[:SAME_WORK_QUESTIONS])
        engine.close()
        with (
            run_server(name, ["--no-cache", *options]) as working,
            run_server(name, options) as keeping,
            pyserini_server(python, index, PYSERINI_PORT) as pyserini,
        ):
            rates: dict[str, list[float]] = {}
            shares: dict[str, list[float]] = {}
            plan = [
                (
                    f"SHRAG {strategy}, questions {kind}",
                    server.process.pid,
                    server.port,
                    "/v1/search",
                    _bodies(asked, strategy),
                )
                for kind, server, asked in (("worked out", working, questions), ("repeated", keeping, repeated))
                for strategy in ("bm25", "shrag")
            ]
            plan += [
                (f"Pyserini's server, questions {kind}", pyserini, PYSERINI_PORT, PATH, theirs[kind]) for kind in theirs
            ]
            plan.append(("Pyserini's server, the same work", pyserini, PYSERINI_PORT, SAME_WORK, whole))
            for _, _, port, path, bodies in plan:
                run_load(port, path, bodies, clients, WARM_SECONDS)
            for _, (what, pid, port, path, bodies) in itertools.product(range(ROUNDS), plan):
                # Requests cut off at the end of the last window must finish, or they take slots in this one.
                time.sleep(PAUSE_SECONDS)
                before = processor_seconds(pid)
                rate, line = run_load(port, path, bodies, clients, WINDOW_SECONDS)
                share = rate * WINDOW_SECONDS / (processor_seconds(pid) - before)
                rates.setdefault(what, []).append(rate)
                shares.setdefault(what, []).append(share)
                print(f"{what}: {line}; {share:.0f} a processor second", flush=True)
    best = {what: statistics.median(found) for what, found in rates.items()}
    each = {what: statistics.median(found) for what, found in shares.items()}
    for kind in theirs:
        baseline = best[f"Pyserini's server, questions {kind}"]
        for strategy in ("bm25", "shrag"):
            ours = best[f"SHRAG {strategy}, questions {kind}"]
            ratio = f"{ours / baseline:.2f} times Pyserini's {baseline:.0f}"
            own, other = each[f"SHRAG {strategy}, questions {kind}"], each[f"Pyserini's server, questions {kind}"]
            by_work = f"{own:.0f} a processor second, {own / other:.2f} times Pyserini's {other:.0f}"
            print(f"questions {kind}: SHRAG {strategy} {ours:.0f} requests/s, {ratio}; {by_work}")
    strategy, same = "SHRAG shrag, questions worked out", "Pyserini's server, the same work"
    ratio = f"{best[strategy] / best[same]:.2f} times Pyserini's {best[same]:.0f}"
    by_work = f"{each[strategy]:.0f} a processor second, {each[strategy] / each[same]:.2f} times Pyserini's"
    print(f"the same work: SHRAG {best[strategy]:.0f} requests/s, {ratio}; {by_work} {each[same]:.0f}")


def _bodies(questions: Sequence[str], strategy: str) -> list[str]:
    return [
        json.dumps({"question": question, "strategy": strategy, "k": 10}, ensure_ascii=False) for question in questions
    ]


def _zipf_sample(questions: Sequence[str]) -> list[str]:
    """Return questions drawn by Zipf's law: the n-th is 1/n times as frequent as the first."""
    weights = [1 / rank for rank in range(1, len(questions) + 1)]
    return random.Random(2).choices(questions, weights, k=REPEATED)


if __name__ == "__main__":
    main()
