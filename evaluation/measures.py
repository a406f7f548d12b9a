"""Judging a run by ir-measures; the only file that imports it."""

from __future__ import annotations

from collections.abc import Sequence

from shrag.corpora.records import Qrel
from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.runs import RunLine


def evaluate(qrels: Sequence[Qrel], run: Sequence[RunLine], measures: Sequence[str]) -> dict[str, float]:
    """Return each measure's mean over all judged topics, by its name in ir-measures' notation (``nDCG@10``, ``R@100``).

    A judged topic that the run does not have scores zero; it does not vanish from the mean.
    """
    import ir_measures

    parsed = {}
    for name in measures:
        try:
            parsed[name] = ir_measures.parse_measure(name)
        except (NameError, SyntaxError, ValueError, TypeError, KeyError):
            raise EvaluationError(
                f"{name!r} is no measure: write it as ir-measures does, such as nDCG@10, R@100, Success@1 or RR@10."
            ) from None
    judged = [ir_measures.Qrel(qrel.qid, qrel.docid, qrel.relevance) for qrel in qrels]
    found = [ir_measures.ScoredDoc(line.qid, line.docid, line.score) for line in run]
    means = ir_measures.calc_aggregate(list(parsed.values()), judged, found)
    return {name: float(means[measure]) for name, measure in parsed.items()}
