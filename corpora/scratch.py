"""A throw-away database: what is remembered while a corpus is read, on disk so that memory does not grow with it."""

from __future__ import annotations

import sqlite3
from pathlib import Path


def scratch_database(path: Path) -> sqlite3.Connection:
    """Return a new SQLite file to work in. One thread writes, and a crash throws the file away.

    So: no journal, no syncing, and one transaction that is never committed: pages go to the file when memory for them
    is used up, not after every statement.
    """
    database = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -65536"):
        database.execute(f"PRAGMA {pragma}")
    database.execute("BEGIN")
    return database
