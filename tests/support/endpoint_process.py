"""The fake endpoint as a process that can be killed: ``python endpoint_process.py PORT``. It writes cited sentences."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.support.fake_endpoint import Endpoint, Handler, Server, piece
from tests.support.fault_modes import only_the_answer

SENTENCE = "재택근무 일수와 일-가정 갈등의 관계를 분석하였다 [1]. "


def _writes(handler: Handler, body: dict[str, Any]) -> None:
    """Take some 200 ms over an answer, so that a kill finds some in the middle."""
    del body
    handler.begin_events()
    for text in (SENTENCE[:9], SENTENCE[9:], SENTENCE, SENTENCE):
        if handler.nobody_listens(0.05):
            handler.close_connection = True
            return
        handler.event(piece(text))
    handler.event(piece(None, "stop"))
    handler.event(b"[DONE]")
    handler.chunk(b"")


class EndpointProcess:
    """Starts it on a port of its own, kills it, and starts it there again."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.address = f"http://127.0.0.1:{port}/v1"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Return once it answers."""
        self._process = subprocess.Popen([sys.executable, __file__, str(self.port)])
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5):
                    return
            except (OSError, urllib.error.URLError):
                time.sleep(0.02)
        raise TimeoutError(f"nothing answers on port {self.port}")

    def kill(self) -> None:
        """Kill it without a word."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def main() -> None:
    """Serve until killed."""
    server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
    server.endpoint = Endpoint(only_the_answer(_writes))
    server.serve_forever()


if __name__ == "__main__":
    main()
