"""The last step of every build: golden answers, the manifest, and the generation made current."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from shrag.corpora.manifest import CorpusManifest
from shrag.indexing.bm25 import Bm25
from shrag.indexing.errors import IndexDamaged, IndexMissing
from shrag.indexing.generations import drop_old, publish, read_current
from shrag.indexing.golden import write_golden
from shrag.indexing.manifest import FORMAT_VERSION, IndexManifest, part_versions
from shrag.indexing.seals import seal_files


def seal_and_publish(
    index: Path,
    build: Path,
    *,
    generation: int,
    source: CorpusManifest,
    analyzer: str,
    bm25: Bm25,
    records: int,
    keep: int,
) -> IndexManifest:
    """Seal all that is in ``build`` and make it the current ``generation``; return its manifest.

    ``keep`` generations are kept, the new one and the one that was current before it first.
    """
    write_golden(build, bm25)
    manifest = IndexManifest(
        format_version=FORMAT_VERSION,
        generation=generation,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        source=source,
        analyzer=analyzer,
        bm25=bm25,
        records=records,
        files=seal_files(build),
        versions=part_versions(),
    )
    before = _current_number(index)
    publish(index, build, manifest)
    drop_old(index, generation, before, keep)
    return manifest


def _current_number(index: Path) -> int | None:
    try:
        return read_current(index)[0]
    except (IndexMissing, IndexDamaged):
        return None
