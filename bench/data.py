"""Folders of benchmarks: indexes under SHRAG_HOME, development sets under SHRAG_DATA."""

from __future__ import annotations

import os
from pathlib import Path

from shrag.corpora.data_folder import data_folder

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "corpora" / "demo"

DATA = Path(os.environ.get("SHRAG_DATA", ROOT.parent / "shared" / "data"))
"""The development sets, one folder each; default: beside the project."""


def home() -> Path:
    """Return the data folder, as the command line does."""
    return data_folder()


def require_data() -> None:
    """Exit with a message if the development sets are missing."""
    if not DATA.is_dir():
        raise SystemExit(f"{DATA} is absent: set SHRAG_DATA to the folder of the development sets.")
