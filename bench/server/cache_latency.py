"""What a question asked again costs: ``python -m bench.server.cache_latency [INDEX]``, which starts a server of its own on loopback.

One client, one connection, each request when the last one is answered. Printed is the time by the server's own clock,
as its log has it, from the request's arrival to the last byte of its answer: of the first time, then of all others.
"""

from __future__ import annotations

import http.client
import json
import sys
from typing import IO

from bench.server.served import started

REQUESTS = 1_000
QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"


def main() -> None:
    """Ask, and print."""
    name = sys.argv[1] if len(sys.argv) > 1 else "demo"
    with started(name) as (_, port, log):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for path in ("/v1/search", "/v1/ask"):
            seconds = [_ask(connection, path, log) for _ in range(REQUESTS + 2)]
            again = sorted(seconds[2:])  # the second time the answer is encoded, and its JSON kept
            p50, p95 = (again[len(again) * percent // 100] * 1e3 for percent in (50, 95))
            print(f"{path}: {seconds[0] * 1e3:.1f} ms the first time, then p50 {p50:.2f} ms, p95 {p95:.2f} ms")


def _ask(connection: http.client.HTTPConnection, path: str, log: IO[str]) -> float:
    """Return the seconds a request took the server."""
    connection.request("POST", path, json.dumps({"question": QUESTION}), {"Content-Type": "application/json"})
    response = connection.getresponse()
    body = response.read()
    if response.status != 200:
        raise SystemExit(f"{path} was answered {response.status}: {body[:200]!r}")
    while True:
        line = log.readline()
        if line.startswith("{") and (told := json.loads(line)).get("route") == path:
            return float(told["seconds"])


if __name__ == "__main__":
    main()
