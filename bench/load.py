"""The server under load, on loopback: ``make load``, or ``python bench/load.py [--seconds N] [--clients N] [NAME]``.

A server of its own over the index NAME is asked by CLIENTS at once, each asking again as soon as it is answered: four
of five search (by ``wrk``, where it is installed), one of five asks and reads the stream to its end (by raw sockets).
Printed are requests a second, p50/p95/p99, what went wrong, and the memory of the first third against the last.
The server has its defaults, but that it keeps no answers, and no language model: answers are extractive.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from shrag.corpora.topics import read_topics

ROOT = Path(__file__).resolve().parent.parent
TOPICS = ROOT / "corpora" / "demo" / "topics.tsv"
SERVER = Path(sys.executable).with_name("shrag-serve")
MOST_SECONDS, MOST_CLIENTS = 1_800, 512
STREAM_SHARE = 5
_WARM_SECONDS, _ALONE_SECONDS = 3, 3

_LUA = """
local bodies = {%s}
local turn = 0
request = function()
  turn = turn + 1
  return wrk.format("POST", "/v1/search", {["Content-Type"] = "application/json"}, bodies[turn %% #bodies + 1])
end
done = function(summary, latency, requests)
  io.stderr:write(string.format("%%d %%d %%d %%d %%d %%d %%d %%d %%d\\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(95), latency:percentile(99), summary.errors.status,
    summary.errors.connect, summary.errors.read, summary.errors.timeout))
end
"""


@dataclass(slots=True)
class Tally:
    """What one kind of client met: seconds of each answer, and answers that were not whole, by what they were."""

    seconds: list[float] = field(default_factory=list)
    wrong: dict[str, int] = field(default_factory=dict)

    def count(self, what: str) -> None:
        """Count an answer that was not whole."""
        self.wrong[what] = self.wrong.get(what, 0) + 1


def main() -> None:
    """Measure and print; exit status 1 where an answer was not whole."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="?", default="demo", help="the index (%(default)s)")
    parser.add_argument("--seconds", type=int, default=30, help=f"at most {MOST_SECONDS} (%(default)s)")
    parser.add_argument("--clients", type=int, default=64, help=f"at most {MOST_CLIENTS} (%(default)s)")
    parser.add_argument("--topics", type=Path, default=TOPICS, help="the questions, id TAB question a line")
    chosen = parser.parse_args()
    seconds, clients = min(chosen.seconds, MOST_SECONDS), min(chosen.clients, MOST_CLIENTS)
    questions = [topic.text for topic in read_topics(chosen.topics)]
    streams = max(1, clients // STREAM_SHARE)
    with _server(chosen.name) as (process, port):
        asyncio.run(_search_by_sockets(port, questions, 4, _WARM_SECONDS))
        _say("search, 1 client (raw sockets)", _alone(port, questions), _ALONE_SECONDS)
        memory: list[float] = []
        stop = threading.Event()
        watching = threading.Thread(target=_watch, args=(process.pid, memory, stop))
        watching.start()
        asks = Tally()
        asking = threading.Thread(target=lambda: asyncio.run(_ask(port, questions, streams, seconds, asks)))
        asking.start()
        wrong = _search(port, questions, clients - streams, seconds)
        asking.join()
        stop.set()
        watching.join()
        _say(f"ask, streamed, {streams} clients", asks, seconds)
        third = max(1, len(memory) // 3)
        first, last = statistics.mean(memory[:third]), statistics.mean(memory[-third:])
        print(f"memory: {first:.0f} MiB in the first third, {last:.0f} MiB in the last")
    raise SystemExit(1 if wrong or asks.wrong else 0)


@contextmanager
def _server(name: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Run a server on a free port; stop it in order."""
    process = subprocess.Popen([str(SERVER), name, "--port", "0", "--no-cache"], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    first = process.stderr.readline()
    match = re.search(r":(\d+)/", first)
    if match is None:
        raise SystemExit(f"The server did not start: {first}")
    drain = threading.Thread(target=lambda: [None for _ in process.stderr or ()], daemon=True)
    drain.start()
    try:
        yield process, int(match.group(1))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def _search(port: int, questions: Sequence[str], clients: int, seconds: int) -> bool:
    """Search by ``wrk``, else by sockets; print, and return whether anything went wrong."""
    wrk = shutil.which("wrk")
    if wrk is None:
        tally = asyncio.run(_search_by_sockets(port, questions, clients, seconds))
        _say(f"search, {clients} clients (raw sockets; wrk is not installed)", tally, seconds)
        return bool(tally.wrong)
    bodies = ", ".join(json.dumps(json.dumps({"question": question}), ensure_ascii=False) for question in questions)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "search.lua"
        script.write_text(_LUA % bodies, encoding="utf-8")
        command = [wrk, "-t", "2", "-c", str(clients), "-d", f"{seconds}s", "--timeout", "30s", "-s", str(script)]
        done = subprocess.run([*command, f"http://127.0.0.1:{port}"], capture_output=True, text=True, check=True)
    line = done.stderr.strip().splitlines()[-1]
    requests, duration, p50, p95, p99, status, connect, read, timeout = map(int, line.split())
    print(
        f"search, {clients} clients (wrk): {requests / duration * 1e6:.0f} requests/s, "
        f"p50 {p50 / 1e3:.1f} ms, p95 {p95 / 1e3:.1f} ms, p99 {p99 / 1e3:.1f} ms; "
        f"not 2xx {status}, connect {connect}, read {read}, timeout {timeout}"
    )
    return bool(status or connect or read or timeout)


def _alone(port: int, questions: Sequence[str]) -> Tally:
    return asyncio.run(_search_by_sockets(port, questions, 1, _ALONE_SECONDS))


async def _search_by_sockets(port: int, questions: Sequence[str], clients: int, seconds: float) -> Tally:
    tally = Tally()
    until = time.monotonic() + seconds

    async def client(number: int) -> None:
        for question in itertools.islice(itertools.cycle(questions), number, None):
            if time.monotonic() >= until:
                return
            body = await _exchange(port, "/v1/search", {"question": question}, tally)
            if body and not body.rstrip().endswith(b"}"):
                tally.count("cut")

    await asyncio.gather(*(client(number) for number in range(clients)))
    return tally


async def _ask(port: int, questions: Sequence[str], clients: int, seconds: float, tally: Tally) -> None:
    until = time.monotonic() + seconds

    async def client(number: int) -> None:
        for question in itertools.islice(itertools.cycle(questions), number, None):
            if time.monotonic() >= until:
                return
            body = await _exchange(port, "/v1/ask", {"question": question, "stream": True}, tally)
            if body and b"event: timings" not in body[-2_000:]:
                tally.count("stream without an end")

    await asyncio.gather(*(client(number) for number in range(clients)))


async def _exchange(port: int, path: str, asked: object, tally: Tally) -> bytes:
    """Send one request on a connection of its own; return the body, empty where the status is not 200."""
    started = time.perf_counter()
    data = json.dumps(asked).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n"
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        answer = await asyncio.wait_for(reader.read(-1), 60)
        writer.close()
    except (OSError, TimeoutError) as error:
        tally.count(type(error).__name__)
        return b""
    tally.seconds.append(time.perf_counter() - started)
    first, _, body = answer.partition(b"\r\n\r\n")
    status = first[9:12].decode()
    if status != "200":
        tally.count(status or "no answer")
        return b""
    return body


def _watch(pid: int, memory: list[float], stop: threading.Event) -> None:
    """Note the resident memory of ``pid`` in MiB, every half second."""
    while not stop.wait(0.5):
        match = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))
        if match:
            memory.append(int(match.group(1)) / 1024)


def _say(what: str, tally: Tally, seconds: float) -> None:
    p50, p95, p99 = (_percentile(tally.seconds, share) * 1e3 for share in (50, 95, 99))
    rate = len(tally.seconds) / seconds
    wrong = ", ".join(f"{name} {count}" for name, count in sorted(tally.wrong.items())) or "nothing"
    print(f"{what}: {rate:.0f} requests/s, p50 {p50:.1f} ms, p95 {p95:.1f} ms, p99 {p99:.1f} ms; wrong: {wrong}")


def _percentile(seconds: Sequence[float], share: int) -> float:
    """Return the nearest-rank percentile; 0 of none."""
    ranked = sorted(seconds)
    return ranked[max(0, -(-len(ranked) * share // 100) - 1)] if ranked else 0.0


if __name__ == "__main__":
    main()
