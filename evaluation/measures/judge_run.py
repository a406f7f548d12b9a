"""Compute measures of a run for each judged topic, and their means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shrag.corpora.records import Qrel
from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.measures.trec_run import RunLine, trec_order
from shrag.messages.text import Text

TopicScores = dict[str, dict[str, float]]
"""Measure → qid → value; every measure has the same topics."""


def judge(qrels: Sequence[Qrel], run: Sequence[RunLine], measures: Sequence[str], min_grade: int = 1) -> TopicScores:
    """Return each measure's value on every judged topic, in the order of ``measures`` and of ``qrels``.

    All measures rank the documents in the order of trec_eval
    (:func:`shrag.evaluation.measures.trec_run.trec_order`). A judged topic that the run lacks scores 0. Topics without
    judgements are ignored. ``measures`` are names in ir-measures' notation (``nDCG@10``, ``QSR(level='article')@50``).
    ``min_grade`` is the least grade that counts as relevant, for measures that have the parameter ``rel`` and do not
    set it.

    Raises :class:`EvaluationError` if there is no judgement, a measure is unknown, or a document or grade is invalid.
    """
    from shrag.evaluation.measures.providers import calculate, parse_measure, with_least_grade

    parsed = {name: with_least_grade(parse_measure(name), min_grade) for name in measures}
    topics = dict.fromkeys(qrel.qid for qrel in qrels)
    if not topics:
        raise EvaluationError(
            Text("There are no judgements, so nothing can be measured: give those of at least one topic.")
        )
    rankings = {qid: docids for qid, docids in trec_order(run).items() if qid in topics}
    values = {(measure, qid): value for measure, qid, value in calculate(set(parsed.values()), qrels, rankings)}
    return {name: {qid: values[measure, qid] for qid in topics} for name, measure in parsed.items()}


def evaluate(qrels: Sequence[Qrel], run: Sequence[RunLine], measures: Sequence[str]) -> dict[str, float]:
    """Return each measure's mean over all judged topics, with the arguments and errors of :func:`judge`."""
    return means(judge(qrels, run, measures))


def means(judged: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each measure over its topics."""
    return {name: sum(values.values()) / len(values) for name, values in judged.items()}
