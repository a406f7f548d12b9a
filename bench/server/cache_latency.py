"""Latency of cached answers: ``python -m bench.server.cache_latency [INDEX]`` starts a server on loopback.

One client sends the same request again and again over one connection. Times are those of the server's log, from the
arrival of a request to the last byte of its response. They are printed for the first request and for the repeated ones.
"""

from __future__ import annotations

import http.client
import json
import sys
from typing import IO

from bench.server.served import start_server

REQUESTS = 1_000
QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"


def main() -> None:
    """Print the first latency, and p50 and p95 of the repeated requests."""
    name = sys.argv[1] if len(sys.argv) > 1 else "demo"
    with start_server(name) as (_, port, log):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for path in ("/v1/search", "/v1/ask"):
            seconds = [_ask(connection, path, log) for _ in range(REQUESTS + 2)]
            again = sorted(seconds[2:])  # the second request encodes the cached answer and caches its JSON
            p50, p95 = (again[len(again) * percent // 100] * 1e3 for percent in (50, 95))
            print(f"{path}: {seconds[0] * 1e3:.1f} ms the first time, then p50 {p50:.2f} ms, p95 {p95:.2f} ms")


def _ask(connection: http.client.HTTPConnection, path: str, log: IO[str]) -> float:
    """Return the server's seconds for one request."""
    connection.request("POST", path, json.dumps({"question": QUESTION}), {"Content-Type": "application/json"})
    response = connection.getresponse()
    body = response.read()
    if response.status != 200:
        raise SystemExit(f"{path} was answered {response.status}: {body[:200]!r}")
    while True:
        line = log.readline()
        if line.startswith("{") and (fields := json.loads(line)).get("route") == path:
            return float(fields["seconds"])


if __name__ == "__main__":
    main()
