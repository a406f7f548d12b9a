"""Making one ranking of several, from places alone: scores of different searches do not compare."""

from __future__ import annotations

from collections.abc import Sequence

CONSTANT = 60
"""How slowly a place loses weight; the value of the paper."""


def reciprocal_ranks(rankings: Sequence[Sequence[str]], constant: int = CONSTANT) -> list[tuple[str, float]]:
    """Return every document of the rankings with the sum of ``1 / (constant + rank)`` over them, best first.

    Ranks count from 1. A document twice in one ranking counts where it first stands, and those after it move up; ties
    go by docid. Source: Cormack, Clarke and Büttcher, *Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods*, SIGIR 2009.

    >>> [docid for docid, _ in reciprocal_ranks([["a", "b", "b", "c"], ["c", "d"]])]
    ['c', 'a', 'b', 'd']
    """
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, docid in enumerate(dict.fromkeys(ranking), 1):
            scores[docid] = scores.get(docid, 0.0) + 1 / (constant + rank)
    return sorted(scores.items(), key=lambda entry: (-entry[1], entry[0]))
