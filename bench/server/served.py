"""Run a SHRAG server for a benchmark: its port, memory, and log lines."""

from __future__ import annotations

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

SERVER = Path(sys.executable).with_name("shrag-serve")


@dataclass
class RunningServer:
    """A running server; ``searches`` are its log lines of searches."""

    process: subprocess.Popen[str]
    port: int
    searches: list[Mapping[str, object]] = field(default_factory=list)

    def memory(self) -> float:
        """Return the resident memory of the server and its workers, in MiB."""
        return sum(_resident(pid) for pid in (self.process.pid, *_children(self.process.pid))) / 1024

    def own_share(self) -> float:
        """Return the median milliseconds of a search outside Lucene and vector search."""
        own = []
        for line in self.searches:
            stages, seconds = line.get("stages"), line["seconds"]
            if isinstance(stages, dict) and isinstance(seconds, float):
                own.append(seconds - stages.get("search", 0.0) - stages.get("vectors", 0.0))
        return statistics.median(own) * 1e3 if own else float("nan")


@contextmanager
def run_server(name: str, options: Sequence[str] = ()) -> Iterator[RunningServer]:
    """Run a server on a free port and collect its log lines of searches; stop it at exit."""
    with start_server(name, options) as (process, port, log):
        running = RunningServer(process, port)

        def read_log() -> None:
            for line in log:
                if '"/v1/search"' in line:
                    running.searches.append(json.loads(line))

        threading.Thread(target=read_log, daemon=True).start()
        yield running


@contextmanager
def start_server(name: str, options: Sequence[str] = ()) -> Iterator[tuple[subprocess.Popen[str], int, IO[str]]]:
    """Run a server on a free port; yield process, port and log, which the caller must read; stop it at exit."""
    command = [str(SERVER), name, "--port", "0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    written = ""
    while (match := re.search(r":(\d+)/", written)) is None:
        line = process.stderr.readline()
        if not line:
            raise SystemExit(f"The server did not start: {written}")
        written += line
    try:
        yield process, int(match.group(1)), process.stderr
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def processor_seconds(pid: int) -> float:
    """Return the processor seconds of a process and its children so far."""
    ticks = 0
    for each in (pid, *_children(pid)):
        # Split after the name, which may contain spaces. The two are the fields 14 and 15 of proc(5).
        fields = Path(f"/proc/{each}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> int:
    try:
        match = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))
    except OSError:
        return 0
    return int(match.group(1)) if match else 0


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    except OSError:
        return []
