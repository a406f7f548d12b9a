"""Opening a stored corpus."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from shrag.corpora.manifest import CorpusManifest, read_manifest
from shrag.corpora.names import check_name
from shrag.corpora.parquet import read_parquet
from shrag.corpora.records import Record


def open_corpus(corpora: Path, name: str) -> tuple[CorpusManifest, Iterator[Record]]:
    """Return a stored corpus: its manifest, and its records in order, read as they are asked for."""
    folder = corpora / check_name(name)
    manifest = read_manifest(folder)
    return manifest, read_parquet(folder / manifest.records_file)
