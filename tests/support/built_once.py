"""Folders that take seconds to build, built once for all of pytest-xdist's workers."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def built_once(factory: pytest.TempPathFactory, name: str, build: Callable[[Path], None]) -> Path:
    """Return this process's own folder with what ``build`` writes; one worker builds, the others copy."""
    folder = factory.mktemp(name) / name
    if "PYTEST_XDIST_WORKER" not in os.environ:
        build(folder)
        return folder
    shared = factory.getbasetemp().parent / name
    with shared.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            build(folder)
            folder.rename(shared)
    shutil.copytree(shared, folder)
    return folder
