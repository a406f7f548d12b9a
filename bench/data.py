"""Where measurements find what they are over: the indexes of SHRAG_HOME, the development sets of SHRAG_DATA."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "corpora" / "demo"

DATA = Path(os.environ.get("SHRAG_DATA", ROOT.parent / "shared" / "data"))
"""The development sets, a folder each; beside the project where SHRAG_DATA does not say otherwise."""


def home() -> Path:
    """Return the folder of everything built, as the commands have it."""
    return Path(os.environ.get("SHRAG_HOME", "var"))


def need_data() -> None:
    """End where the development sets are not there."""
    if not DATA.is_dir():
        raise SystemExit(f"{DATA} is absent: set SHRAG_DATA to the folder of the development sets.")
