"""The same paper under two numbers is shown once: its best-ranked record, which names the others."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from shrag.corpora.records import Record
from shrag.serving.events import RankedRecord


def show_once(ranked: Iterable[RankedRecord], most: int | None = None) -> list[RankedRecord]:
    """Return the best record of each paper, best first, ranked anew, ``most`` at most; ``also`` names its others.

    Those are the ones that are ranked too, in their order, and the first one of the paper in the corpus, which all
    others point to. The order in which they come is the order in which they are ranked.
    """
    papers: dict[str, list[RankedRecord]] = {}
    for each in ranked:
        papers.setdefault(_paper(each.record), []).append(each)
    return [
        RankedRecord(rank, each[0].pool_rank, each[0].score, each[0].record, _others(paper, each))
        for rank, (paper, each) in enumerate(islice(papers.items(), most), 1)
    ]


def _paper(record: Record) -> str:
    return record.duplicate_of or record.docid


def _others(paper: str, ranked: list[RankedRecord]) -> tuple[str, ...]:
    if len(ranked) == 1 and ranked[0].record.docid == paper:
        return ()
    docids = dict.fromkeys([*(each.record.docid for each in ranked), paper])
    return tuple(docids)[1:]
