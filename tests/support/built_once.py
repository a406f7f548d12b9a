"""Folders that take seconds to build, built once for all of pytest-xdist's workers, or for several runs."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

VARIABLE = "SHRAG_BUILT_ONCE"
"""Names a folder where what was built stays for the next run; for runs over the same corpora and indexing code."""


def built_once(factory: pytest.TempPathFactory, name: str, build: Callable[[Path], None]) -> Path:
    """Return this process's own folder with what ``build`` writes; one worker builds, the others copy."""
    folder = factory.mktemp(name) / name
    if VARIABLE in os.environ:
        shared = Path(os.environ[VARIABLE]) / name
    elif "PYTEST_XDIST_WORKER" in os.environ:
        shared = factory.getbasetemp().parent / name
    else:
        build(folder)
        return folder
    with shared.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            build(folder)
            folder.rename(shared)
    shutil.copytree(shared, folder)
    return folder
