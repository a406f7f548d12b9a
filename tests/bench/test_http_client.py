from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from bench.server.http_client import run_load


@pytest.fixture
def answered() -> Iterator[tuple[int, list[int]]]:
    """Return the port of a server that answers 200, 500 and 429 in turn, and the list of the statuses that it sent."""
    statuses, sent = itertools.cycle([200, 500, 429]), list[int]()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            sent.append(next(statuses))
            self.send_response(sent[-1])
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        yield server.server_port, sent
        server.shutdown()
        serving.join()


def test_without_wrk_the_rate_counts_only_responses_with_the_status_200(
    answered: tuple[int, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    port, sent = answered
    rate, line = run_load(port, "/v1/search", ["{}"], clients=1, seconds=1)
    counts = {status: sent.count(status) for status in (200, 500, 429)}
    assert min(counts.values()) > 0
    assert 0 < rate <= counts[200]  # the test takes a second or more
    assert re.search(rf"refused \(429\): {counts[429]}; wrong: 500 {counts[500]} ", line)
