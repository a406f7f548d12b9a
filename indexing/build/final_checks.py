"""Checks of a finished build before it is published: Lucene's checksums, and its records against the corpus."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

from shrag.corpora.store.parquet import read_digests, record_digest
from shrag.indexing.build.derived_steps import rejected_docids
from shrag.indexing.build.job import BuildJob
from shrag.indexing.errors import IndexDamaged
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.maintenance.checks import check_lucene
from shrag.messages.text import Text


def check_build(job: BuildJob) -> None:
    """Raise :class:`IndexDamaged` if Lucene's files have changed, or if their records are not those of the corpus."""
    build = job.workspace
    folder = build.index / FOLDER
    if problems := check_lucene(folder, checksums_only=True):
        raise IndexDamaged(
            Text("{folder} has changed since it was written ({problems}).", folder=folder, problems=problems[0])
        )
    rejected = frozenset(rejected_docids(build.index))
    expected = _combine(digest for docid, digest in read_digests(job.records) if docid not in rejected)
    with closing(LuceneSearcher(folder, build.plan.bm25)) as reader:
        stored = _combine(record_digest(found.record) for found in reader.documents(range(reader.count())))
    if stored != expected:
        raise IndexDamaged(
            Text(
                "The records in {folder} ({stored}) are not those of the corpus ({expected}).",
                folder=folder,
                stored=stored[0],
                expected=expected[0],
            )
        )


def _combine(digests: Iterable[bytes]) -> tuple[int, int]:
    """Return the number of digests, and their exclusive or, which does not depend on their order."""
    count = combined = 0
    for count, digest in enumerate(digests, 1):  # noqa: B007
        combined ^= int.from_bytes(digest)
    return count, combined
