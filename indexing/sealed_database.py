"""Opening a sealed SQLite file."""

from __future__ import annotations

import sqlite3
from pathlib import Path


def open_sealed(path: Path) -> sqlite3.Connection:
    """Return a connection that reads ``path`` and writes nothing; its users take turns.

    Immutable: no journal is looked for and nothing is written beside the file, which may be read-only.
    """
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
