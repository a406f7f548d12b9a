"""The real server as a process whose log somebody reads, and what it holds."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.serving.http.test_server import serve_process
from tests.support.live import wait_until
from tests.support.process_figures import Held, held

SMALL_CACHE = ("--cache-mib", "8")
"""For who watches the memory: full soon."""


class Served:
    """A running process; ``log`` has the lines that it wrote."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process = process
        self.pid = process.pid
        self.port = int(url.rstrip("/").rpartition(":")[2])
        self.log: list[str] = []

    @property
    def held(self) -> Held:
        """What it holds now."""
        return held(self.pid)

    def wait_until_held(self, before: Held, seconds: float = 10.0) -> None:
        """Wait until it has at most two descriptors and threads more than ``before``; else fail with its stacks."""
        try:
            wait_until(lambda: self.held.descriptors <= before.descriptors + 2, seconds)
            wait_until(lambda: self.held.threads <= before.threads + 2, seconds)
        except AssertionError:
            written, now = len(self.log), self.held
            self.process.send_signal(signal.SIGUSR1)
            time.sleep(2)
            raise AssertionError(f"{before} became {now}:\n" + "".join(self.log[written:])) from None

    def read_log(self) -> None:
        """Read until it ends."""
        assert self.process.stderr is not None
        self.log.extend(self.process.stderr)


@contextmanager
def served(home: Path, *arguments: str, name: str = "demo") -> Iterator[Served]:
    """Serve the index ``name`` of ``home`` until the block ends."""
    with serve_process(home, name, *arguments) as (process, url):
        server = Served(process, url)
        reader = threading.Thread(target=server.read_log, daemon=True)
        reader.start()
        yield server
        process.kill()
        reader.join()
