"""The same paper under two numbers is shown once: its best-ranked record, which names the others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from shrag.corpora.records import Record
from shrag.serving.events import RankedRecord


def show_once(ranked: Iterable[RankedRecord]) -> list[RankedRecord]:
    """Return the best record of each paper, best first, ranked anew; ``also`` names the paper's others.

    Those are the ones that are ranked too, in their order, and the first one of the paper in the corpus, which all
    others point to. The order in which they come is the order in which they are ranked.
    """
    papers: dict[str, list[RankedRecord]] = {}
    for each in ranked:
        papers.setdefault(_paper(each.record), []).append(each)
    return [
        replace(best, rank=rank, also=_others(paper, [best, *rest]))
        for rank, (paper, (best, *rest)) in enumerate(papers.items(), 1)
    ]


def _paper(record: Record) -> str:
    return record.duplicate_of or record.docid


def _others(paper: str, ranked: list[RankedRecord]) -> tuple[str, ...]:
    docids = dict.fromkeys([*(each.record.docid for each in ranked), paper])
    return tuple(docids)[1:]
