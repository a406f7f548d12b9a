"""The glossary's part in building an index: mined from the corpus, corrected by the user, written beside Lucene."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from shrag.corpora.records import Record
from shrag.indexing.analysis import Analyzer
from shrag.indexing.glossary import FILE, write_glossary
from shrag.indexing.glossary_corrections import FILE as CORRECTIONS
from shrag.indexing.glossary_corrections import correct, parse_corrections
from shrag.indexing.glossary_mining import mine_glossary

_SCRATCH = "glossary.scratch"


def build_glossary(build: Path, stage: Path, records: Iterable[Record], analyzer: Analyzer, corrections: bytes) -> int:
    """Write the glossary of ``records`` into the folder ``build``, and the user's ``corrections`` where there are any.

    Returns how many pairs it has. What an interrupted call left is written over; notes lie in ``stage`` meanwhile.
    """
    entries = mine_glossary(records, analyzer, stage / _SCRATCH)
    corrected = correct(entries, parse_corrections(corrections), analyzer)
    for name in (FILE, CORRECTIONS):
        (build / name).unlink(missing_ok=True)
    if corrections:
        (build / CORRECTIONS).write_bytes(corrections)
    return write_glossary(build / FILE, corrected)


def stored_corrections(folder: Path) -> bytes:
    """Return the corrections an index was built with; empty where it has none."""
    path = folder / CORRECTIONS
    return path.read_bytes() if path.is_file() else b""
