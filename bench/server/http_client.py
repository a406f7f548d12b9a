"""HTTP load from many connections, by asyncio sockets, which check each response, or by ``wrk``."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

_TIMEOUT_SECONDS = 60.0
_TOO_MANY_REQUESTS = 429
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)

_LUA = """
local bodies = {%s}
local turn = 0
request = function()
  turn = turn + 1
  return wrk.format("POST", "%s", {["Content-Type"] = "application/json"}, bodies[(turn - 1) %% #bodies + 1])
end
local threads = {}
setup = function(thread) table.insert(threads, thread) end
init = function() others = {} end
response = function(status)
  if status ~= 200 then others[status] = (others[status] or 0) + 1 end
end
done = function(summary, latency, requests)
  io.stderr:write(string.format("%%d %%d %%d %%d %%d %%d %%d %%d", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(95), latency:percentile(99),
    summary.errors.connect, summary.errors.read, summary.errors.timeout))
  for _, thread in ipairs(threads) do
    for status, count in pairs(thread:get("others")) do io.stderr:write(string.format(" %%d:%%d", status, count)) end
  end
  io.stderr:write("\\n")
end
"""


@dataclass(slots=True)
class LoadResult:
    """Result of a load test.

    Attributes:
        seconds: Seconds of each response with the status 200.
        wrong: Number of failures by kind.
        elapsed: Seconds of the whole test.
        refused: Number of responses 429, which are expected under overload and are no failures.
    """

    seconds: list[float] = field(default_factory=list)
    wrong: dict[str, int] = field(default_factory=dict)
    elapsed: float = 0.0
    refused: int = 0

    def count(self, what: str) -> None:
        """Count a failure of the kind ``what``."""
        self.wrong[what] = self.wrong.get(what, 0) + 1

    @property
    def rate(self) -> float:
        """Responses with the status 200, per second."""
        return len(self.seconds) / self.elapsed if self.elapsed else 0.0

    def __str__(self) -> str:
        """Return the figures on one line."""
        p50, p95, p99 = (percentile(self.seconds, share) * 1e3 for share in (50, 95, 99))
        wrong = ", ".join(f"{name} {count}" for name, count in sorted(self.wrong.items())) or "nothing"
        times = f"p50 {p50:.1f} ms, p95 {p95:.1f} ms, p99 {p99:.1f} ms"
        return f"{self.rate:.0f} requests/s, {times}; refused (429): {self.refused}; wrong: {wrong}"


def percentile(seconds: Sequence[float], share: int) -> float:
    """Return the nearest-rank percentile, or 0 for an empty list."""
    ranked = sorted(seconds)
    return ranked[max(0, -(-len(ranked) * share // 100) - 1)] if ranked else 0.0


@asynccontextmanager
async def connection(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Open a connection to ``port`` on loopback."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    try:
        yield reader, writer
    finally:
        writer.close()


async def post(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, asked: object
) -> tuple[int, bytes]:
    """Send a request on a keep-alive connection, and return the status and body of the response.

    A stream is read to its end.

    Raises:
        OSError: The connection fails.
        EOFError: The connection is cut (:class:`asyncio.IncompleteReadError`).
        TimeoutError: The response takes too long.
    """
    data = json.dumps(asked).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(data)}"
    writer.write(f"{head}\r\n\r\n".encode() + data)
    async with asyncio.timeout(_TIMEOUT_SECONDS):
        answered = await reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(answered)
        body = await (reader.readexactly(int(length.group(1))) if length else _chunks(reader))
    return int(answered[9:12]), body


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
    return body


async def ask_concurrently(
    port: int,
    path: str,
    clients: int,
    seconds: float,
    draw: Callable[[], object],
    judge: Callable[[object, bytes], str],
) -> LoadResult:
    """Send requests from ``clients`` clients for ``seconds``. Each waits for a response before its next request.

    ``draw`` returns the next request. ``judge`` returns what is wrong with a response, or an empty string.
    """
    result = LoadResult()
    started = time.perf_counter()

    async def client() -> None:
        while time.perf_counter() - started < seconds:
            try:
                async with connection(port) as (reader, writer):
                    while time.perf_counter() - started < seconds:
                        await _once(reader, writer)
            except (OSError, EOFError, TimeoutError) as error:
                result.count(type(error).__name__)

    async def _once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = draw()
        sent = time.perf_counter()
        status, body = await post(reader, writer, path, asked)
        if status == _TOO_MANY_REQUESTS:
            result.refused += 1
        elif status != 200:
            result.count(str(status))
        else:
            result.seconds.append(time.perf_counter() - sent)
            if wrong := judge(asked, body):
                result.count(wrong)

    await asyncio.gather(*(client() for _ in range(clients)))
    result.elapsed = time.perf_counter() - started
    return result


def run_load(port: int, path: str, bodies: Sequence[str], clients: int, seconds: int) -> tuple[float, str]:
    """Return responses per second by ``wrk``, or by sockets if it is not installed, and a line of figures.

    The rate counts responses with the status 200. The others are listed by status.
    """
    wrk = shutil.which("wrk")
    if wrk is None:
        turn = iter(range(1 << 62))
        asked = [json.loads(body) for body in bodies]
        result = asyncio.run(
            ask_concurrently(port, path, clients, seconds, lambda: asked[next(turn) % len(asked)], lambda *_: "")
        )
        return result.rate, f"{result} (raw sockets: wrk is not installed)"
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "load.lua"
        script.write_text(_LUA % (", ".join(map(_lua, bodies)), path), encoding="utf-8")
        command = [wrk, "-t", "1", "-c", str(clients), "-d", f"{seconds}s", "--timeout", "30s", "-s", str(script)]
        done = subprocess.run([*command, f"http://127.0.0.1:{port}"], capture_output=True, text=True, check=True)
    figures, others = _read(done.stderr.strip().splitlines()[-1])
    requests, micros, p50, p95, p99, connect, read, timeout = figures
    rate = (requests - sum(others.values())) / micros * 1e6
    refused = others.pop(_TOO_MANY_REQUESTS, 0)
    failures = {f"status {status}": count for status, count in sorted(others.items())}
    failures |= {"connect": connect, "read": read, "timeout": timeout}
    wrong = ", ".join(f"{name} {count}" for name, count in failures.items() if count) or "nothing"
    times = f"p50 {p50 / 1e3:.1f} ms, p95 {p95 / 1e3:.1f} ms, p99 {p99 / 1e3:.1f} ms"
    return rate, f"{rate:.0f} requests/s, {times}; refused (429): {refused}; wrong: {wrong}"


def _read(line: str) -> tuple[list[int], dict[int, int]]:
    """Return the figures that :data:`_LUA` writes, and the number of responses of each status other than 200."""
    words = line.split()
    others = [word.split(":") for word in words if ":" in word]
    return [int(word) for word in words if ":" not in word], {int(status): int(count) for status, count in others}


def _lua(text: str) -> str:
    """Return ``text`` as a Lua string literal. JSON would not do, since Lua lacks some of its escapes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
