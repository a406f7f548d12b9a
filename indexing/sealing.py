"""The manifest of a build, made when all its files are written."""

from __future__ import annotations

from datetime import UTC, datetime

from shrag.corpora.manifest import CorpusManifest
from shrag.indexing.busy import Busy
from shrag.indexing.half_built import HalfBuilt
from shrag.indexing.manifest import FORMAT_VERSION, IndexManifest
from shrag.indexing.note_phases import count_rejects
from shrag.indexing.seals import seal_files
from shrag.indexing.vector_card import kept_card


def make_manifest(build: HalfBuilt, source: CorpusManifest, busy: Busy) -> IndexManifest:
    """Return the manifest of what ``build`` holds, every file sealed."""
    rejected = count_rejects(build)
    return IndexManifest(
        format_version=FORMAT_VERSION,
        generation=build.generation,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        source=source,
        analyzer=build.plan.analyzer,
        bm25=build.plan.bm25,
        records=build.plan.records - rejected,
        rejected=rejected,
        busy=busy.shares(),
        files=seal_files(build.index),
        versions=build.plan.versions,
        vectors=kept_card(build.stage),
    )
