"""The demonstration corpus that comes with SHRAG."""

from __future__ import annotations

from pathlib import Path

import shrag.corpora
from shrag.corpora.ingest.add import AdditionResult, add_corpus
from shrag.corpora.store.manifest import MANIFEST_FILE

DEMO = "demo"
"""The name of the demonstration corpus."""


def add_demonstration(corpora: Path) -> AdditionResult:
    """Add the demonstration corpus, 235 records that the project wrote itself, to the folder of all corpora."""
    records = Path(shrag.corpora.__path__[0], "demo", "records.jsonl")
    return add_corpus(corpora, DEMO, "scienceon", [records])


def is_added(corpora: Path) -> bool:
    """Return whether there is a corpus with the name of the demonstration corpus, not only what a failure left."""
    return (corpora / DEMO / MANIFEST_FILE).exists()
