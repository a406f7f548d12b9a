"""The order in which trec_eval reads a run: what a ranking is, whichever tool measures it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.runs import RunLine


def trec_order(run: Iterable[RunLine]) -> dict[str, list[str]]:
    """Return the documents of every topic, best first, as trec_eval 9 orders them.

    It ignores the rank column and sorts by score, as a 32-bit number; documents of one score stand in falling order of
    their identifiers. Raises :class:`EvaluationError` for a document that a topic has twice, and for a score that is no
    number.
    """
    topics: dict[str, tuple[list[str], list[float]]] = {}
    for line in run:
        docids, scores = topics.setdefault(line.qid, ([], []))
        docids.append(line.docid)
        scores.append(line.score)
    return {qid: trec_ranking(qid, docids, scores) for qid, (docids, scores) in topics.items()}


def trec_ranking(qid: str, docids: Sequence[str], scores: Sequence[float]) -> list[str]:
    """Return the documents of one topic in that order; errors as :func:`trec_order`."""
    if len(set(docids)) < len(docids):
        twice = Counter(docids).most_common(1)[0][0]
        raise EvaluationError(f"Topic {qid} has {twice} twice in the run: each document may stand once for a topic.")
    with np.errstate(over="ignore"):  # trec_eval, too, takes what exceeds 32 bits for infinite
        narrow = np.array(scores, dtype=np.float64).astype(np.float32)
    if np.isnan(narrow).any():
        docid = docids[int(np.isnan(narrow).argmax())]
        raise EvaluationError(f"Topic {qid} gives {docid} a score that is no number, so it has no place in the order.")
    return [docid for _, docid in sorted(zip(narrow.tolist(), docids, strict=True), reverse=True)]
