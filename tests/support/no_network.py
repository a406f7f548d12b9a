"""The commands where there is no network, not even this machine's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def run_without_network(commands: str, home: Path) -> str:
    """Run ``shrag`` commands, one a line, with the data folder ``home``; return their standard output.

    Skips the test where network namespaces cannot be made; a command that fails fails it.
    """
    unshare = shutil.which("unshare")
    probe = [unshare or "unshare", "--net", "true"]
    if unshare is None or subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("network namespaces cannot be made here (unshare --net needs root)")
    shrag = f"""shrag() {{ {sys.executable} -c 'from shrag.cli.main import main; main()' "$@"; }}"""
    done = subprocess.run(
        [unshare, "--net", "bash", "-ec", f"{shrag}\n{commands}"],
        capture_output=True,
        text=True,
        env={**os.environ, "SHRAG_HOME": str(home)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
