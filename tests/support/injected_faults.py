"""System calls that fail: points of a traced run, faults drawn from them, and the strace command that injects one.

A point is a call on one file or folder of a home. A fault is the N-th such call of a thread, or every one from the N-th
on, that returns an error which a disk, a network file system or the process's limits can cause there.
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_OPENING = ("EIO", "ENOSPC", "EMFILE", "EACCES", "ESTALE")
_NAMING = ("EIO", "ENOSPC", "EACCES", "ESTALE")
_REMOVING = ("EIO", "EACCES", "ESTALE")
_WRITING = ("EIO", "ENOSPC", "ESTALE")
_READING = ("EIO", "ESTALE")

ERRORS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("open", "openat"), _OPENING),
    **dict.fromkeys(("mkdir", "mkdirat", "rename", "renameat", "renameat2", "link", "linkat"), _NAMING),
    **dict.fromkeys(("unlink", "unlinkat", "rmdir", "stat", "newfstatat", "statx", "access", "mmap"), _REMOVING),
    **dict.fromkeys(("write", "pwrite64", "writev", "ftruncate", "fallocate", "fsync", "fdatasync", "close"), _WRITING),
    **dict.fromkeys(("read", "pread64", "lseek", "fstat", "getdents64", "flock", "sendfile"), _READING),
}
"""The errors that each call may return."""

ANYWHERE = ""
"""The path of a fault on all files of the machine."""

_CALL = re.compile(r"^(\d+) +(\w+)\((.*)")
_PATH = re.compile(r"[\"<](/[^\">]*)[\">]")


class Fault(NamedTuple):
    """A call that fails; ``path`` is relative to the home, ``when`` strace's: ``3`` or, from then on, ``3+``."""

    call: str
    path: str
    error: str
    when: str

    def __str__(self) -> str:
        return f"{self.call} {self.path or 'anywhere'} {self.error} {self.when}"


Points = Mapping[tuple[str, str], int]
"""Call and path, relative to the home → the most such calls by one thread."""


def tracing(strace: str, output: Path) -> list[str]:
    """Return the beginning of a command whose calls are written to ``output``, for :func:`read_points`."""
    return [
        *(strace, "-f", "-qq", "-y", "-s", "0", "--seccomp-bpf", "-e", "signal=none"),
        *("-e", f"trace={','.join(ERRORS)}", "-o", str(output)),
    ]


def read_points(trace: Path, home: Path) -> Points:
    """Return the points of a trace in ``home``."""
    calls: Counter[tuple[str, str, str]] = Counter()
    for line in trace.read_text(errors="replace").splitlines():
        match = _CALL.match(line)
        if match is None:
            continue
        thread, name, arguments = match.groups()
        paths = list(dict.fromkeys(_PATH.findall(arguments)))
        for path in paths[:1] if name == "rename" else paths:  # strace finds a ``rename`` by its first path alone
            if path.startswith(f"{home}/"):
                calls[name, path.removeprefix(f"{home}/"), thread] += 1
    points: dict[tuple[str, str], int] = {}
    for (name, path, _), count in sorted(calls.items()):
        points[name, path] = max(count, points.get((name, path), 0))
    return points


def calls_of_each(runs: Sequence[Points]) -> Points:
    """Return the points that all runs have, each with the fewest calls of any: those that another run makes too."""
    return {point: min(run[point] for run in runs) for point in runs[0] if all(point in run for run in runs)}


def draw_faults(points: Points, seed: int, count: int) -> list[Fault]:
    """Draw different faults: each call is as likely as another, then each path, error and moment."""
    chance = random.Random(seed)
    paths: dict[str, list[str]] = {}
    for name, path in points:
        paths.setdefault(name, []).append(path)
    names = sorted(paths)
    drawn: dict[Fault, None] = {}
    while len(drawn) < count:
        name = chance.choice(names)
        path = chance.choice(sorted(paths[name]))
        number = chance.randint(1, points[name, path])
        lasts = "+" if chance.random() < 1 / 3 else ""
        drawn[Fault(name, path, chance.choice(ERRORS[name]), f"{number}{lasts}")] = None
    return list(drawn)


def injecting(strace: str, fault: Fault, home: Path, output: Path, *, attached: bool = False) -> list[str]:
    """Return the beginning of a command, or of the attachment to a process, in which the fault happens.

    The calls concerned are written to ``output``.
    """
    at = ["-P", str(home / fault.path)] if fault.path else []
    inject = f"inject={fault.call}:error={fault.error}:when={fault.when}"
    return [
        *(strace, "-f", "-qq", "-s", "0", "-e", "signal=none", "-o", str(output), *at),
        *(() if attached else ("--seccomp-bpf",)),
        *("-e", f"trace={fault.call}", "-e", inject),
    ]


def has_happened(output: Path) -> bool:
    """Return whether a call failed by injection."""
    return "(INJECTED)" in output.read_text(errors="replace")


def seed() -> int:
    """Return the seed of the cases of ``make soak``: SHRAG_SEED, else a random one, which is printed."""
    chosen = int(os.environ.get("SHRAG_SEED", random.randrange(10**6)))
    print(f"SHRAG_SEED={chosen}")
    return chosen
