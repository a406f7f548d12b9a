"""Measures of a run on each judged topic, and on average."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shrag.corpora.records import Qrel
from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.measures.trec_run import RunLine, trec_order

Judged = dict[str, dict[str, float]]
"""Measure → qid → value, every measure over the same topics."""


def judge(qrels: Sequence[Qrel], run: Sequence[RunLine], measures: Sequence[str]) -> Judged:
    """Return each measure's value on every judged topic, measures in the given order, topics in that of ``qrels``.

    Measures are named in ir-measures' notation (``nDCG@10``, ``R@100``, ``QSR(level='article')@50``). A judged topic
    that the run does not have scores zero, whatever the measure; a topic without judgements does not count. Every
    measure sees one order of the documents, trec_eval's (:func:`shrag.evaluation.measures.trec_run.trec_order`).
    """
    from shrag.evaluation.measures.providers import calculate, parse_measure

    parsed = {name: parse_measure(name) for name in measures}
    topics = dict.fromkeys(qrel.qid for qrel in qrels)
    if not topics:
        raise EvaluationError("There is no judgement, so nothing can be measured: give those of one topic or more.")
    rankings = {qid: docids for qid, docids in trec_order(run).items() if qid in topics}
    found = {(measure, qid): value for measure, qid, value in calculate(set(parsed.values()), qrels, rankings)}
    return {name: {qid: found[measure, qid] for qid in topics} for name, measure in parsed.items()}


def evaluate(qrels: Sequence[Qrel], run: Sequence[RunLine], measures: Sequence[str]) -> dict[str, float]:
    """Return each measure's mean over all judged topics; names and errors as :func:`judge`."""
    return means(judge(qrels, run, measures))


def means(judged: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each measure over its topics."""
    return {name: sum(values.values()) / len(values) for name, values in judged.items()}
