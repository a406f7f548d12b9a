"""Candidate records of one or several rankings: reciprocal rank fusion and pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shrag.indexing.analyzed_record import AnalysedRecord
from shrag.indexing.search_engine import RecordStore

RRF_K = 60
"""How slowly a rank loses weight; the value of the paper."""


class CandidateRecords(NamedTuple):
    """Records to rank, in their order, and the docids left out because their records are incomplete or missing."""

    records: list[AnalysedRecord]
    incomplete: list[str]


def collect_candidates(
    docids: Sequence[str], store: RecordStore, limit: int | None = None, *, complete_only: bool = True
) -> CandidateRecords:
    """Fetch the records of ``docids`` in their order.

    Args:
        docids: Different docids, the best first.
        store: Where the records are.
        limit: Records to return at most; all where not given. Records beyond them are not read.
        complete_only: Whether to leave out records that cannot support an answer: without title or abstract.
    """
    candidates = CandidateRecords([], [])
    portion = limit or len(docids)
    for start in range(0, len(docids), portion or 1):
        wanted = docids[start : start + portion]
        for docid, record in zip(wanted, store.fetch(wanted), strict=True):
            if len(candidates.records) == portion:
                return candidates
            if record is None or (complete_only and not record.record.complete):
                candidates.incomplete.append(docid)
            else:
                candidates.records.append(record)
    return candidates


def reciprocal_rank_fusion(rankings: Sequence[Sequence[str]], rrf_k: int = RRF_K) -> list[tuple[str, float]]:
    """Return every document of the rankings with the sum of ``1 / (rrf_k + rank)`` over them, best first.

    Ranks count from 1. A document twice in one ranking counts where it first is, and those after it move up; ties go by
    docid. Source: Cormack, Clarke and Büttcher, *Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods*, SIGIR 2009.

    >>> [docid for docid, _ in reciprocal_rank_fusion([["a", "b", "b", "c"], ["c", "d"]])]
    ['c', 'a', 'b', 'd']
    """
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, docid in enumerate(dict.fromkeys(ranking), 1):
            scores[docid] = scores.get(docid, 0.0) + 1 / (rrf_k + rank)
    return sorted(scores.items(), key=lambda entry: (-entry[1], entry[0]))
