"""Every address that a command connects or sends to, failed attempts too, by strace."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

TRACED = ("strace", "--follow-forks", "--seccomp-bpf", "--quiet=all", "-e", "trace=connect,sendto,sendmsg,sendmmsg")
"""The words before a command, with ``--output FILE``, that trace it with all that it starts."""

_ADDRESS = re.compile(r'sin6?_port=htons\(\d+\).*?(?:inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)")')


def require_namespaces() -> None:
    """Skip the test where a namespace without a network cannot be made, or nothing traced."""
    unshare = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    if unshare.returncode or shutil.which("strace") is None:
        pytest.skip("network namespaces cannot be made here (unshare --net needs root), or there is no strace")


def connections(folder: Path) -> tuple[int, set[str]]:
    """Return how many calls were traced in a folder of traces, and their addresses that are not the loopback's."""
    calls, addresses = 0, set()
    for trace in folder.glob("*.strace*"):
        for line in trace.read_text(errors="replace").splitlines():
            calls += "(" in line
            addresses |= {next(filter(None, found)) for found in _ADDRESS.findall(line)}
    return calls, {each for each in addresses if not each.removeprefix("::ffff:").startswith("127.") and each != "::1"}
