"""ir-measures, and what this project adds to it: QSR and evidence recall. The only file that imports it.

Importing this module registers the two under their names and appends their provider to the ones there are. No name
that ir-measures has is touched, and its providers are asked first, so every other measure is computed as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import ir_measures
from ir_measures import measures, providers

from shrag.corpora.records import Qrel
from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.query_success import ranking_at, recall, relevant_at, success
from shrag.evaluation.runs import RunLine
from shrag.evaluation.trec_order import trec_order

Measure: TypeAlias = Any
Judgements: TypeAlias = Any
Ranking: TypeAlias = Any
"""ir-measures' own kinds, which it gives no types for."""

_PARAMETERS = {
    "cutoff": measures.ParamInfo(dtype=int, desc="ranking cutoff threshold, in documents or articles"),
    "rel": measures.ParamInfo(dtype=int, default=1, desc="minimum relevance score to be considered relevant"),
    "level": measures.ParamInfo(
        dtype=str, choices=["document", "article"], default="document", desc="what counts as one: see query_success.py"
    ),
}


class _QSR(measures.Measure):  # type: ignore[misc]
    """1 where a relevant document is in the collected set, else 0; its mean is the Query Success Rate."""

    __name__ = "QSR"
    NAME = __name__
    PRETTY_NAME = "Query Success Rate"
    SHORT_DESC = "Whether the collected set has at least one relevant document."
    SUPPORTED_PARAMS = _PARAMETERS


class _EvidenceRecall(measures.Measure):  # type: ignore[misc]
    """The share of the relevant documents that are in the collected set."""

    __name__ = "EvidenceRecall"
    NAME = __name__
    PRETTY_NAME = "Evidence Recall"
    SHORT_DESC = "Which share of the relevant documents the collected set has."
    SUPPORTED_PARAMS = _PARAMETERS


QSR = _QSR()
EvidenceRecall = _EvidenceRecall()

_COMPUTED: dict[str, Callable[[Sequence[str], frozenset[str], int | None], float]] = {
    QSR.NAME: success,
    EvidenceRecall.NAME: recall,
}
_ALIASES = {"EvidenceCoverage": QSR}


class _Evaluator(providers.Evaluator):  # type: ignore[misc]
    def __init__(self, wanted: Iterable[Measure], qrels: Mapping[str, Mapping[str, int]]) -> None:
        super().__init__(list(wanted), list(qrels))
        self._qrels = qrels

    def _iter_calc(self, run: Ranking) -> Iterator[Any]:
        docs = ir_measures.util.RunConverter(run).as_namedtuple_iter()
        rankings = trec_order(RunLine(doc.query_id, doc.doc_id, 0, doc.score, "") for doc in docs)
        for measure in self.measures:
            compute, level, rel = _COMPUTED[measure.NAME], measure["level"], measure["rel"]
            cutoff = measure.params.get("cutoff")
            for qid, grades in self._qrels.items():
                found = compute(ranking_at(rankings.get(qid, []), level), relevant_at(grades, rel, level), cutoff)
                yield ir_measures.Metric(query_id=qid, measure=measure, value=found)


class _Provider(providers.Provider):  # type: ignore[misc]
    NAME = "shrag"
    SUPPORTED_MEASURES = [  # noqa: RUF012
        kind(cutoff=providers.base.Any(), rel=providers.base.Any(), level=providers.base.Any())
        for kind in (_QSR, _EvidenceRecall)
    ]

    def _evaluator(self, wanted: Iterable[Measure], qrels: Judgements) -> _Evaluator:
        return _Evaluator(wanted, ir_measures.util.QrelsConverter(qrels).as_dict_of_dict())


def _register() -> None:
    ours = {QSR.NAME: QSR, EvidenceRecall.NAME: EvidenceRecall, **_ALIASES}
    taken = [name for name in ours if name in measures.registry]
    if taken:
        raise EvaluationError(f"Another package has given ir-measures a measure {taken[0]}: import one of the two.")
    measures.registry.update(ours)
    ir_measures.DefaultPipeline.providers.append(providers.register(_Provider()))


_register()


def parse_measure(name: str) -> Measure:
    """Return the measure that a name of ir-measures' notation stands for; its ``str`` is that notation again."""
    try:
        measure = ir_measures.parse_measure(name)
        measure.validate_params()
        cutoff = measure.params.get("cutoff", 1)
    except (NameError, SyntaxError, ValueError, TypeError, KeyError, AssertionError, AttributeError):
        raise EvaluationError(
            f"{name!r} is no measure: write it as ir-measures does, such as nDCG@10, R@100, RR@10, QSR@50 or "
            "QSR(level='article')@50."
        ) from None
    if cutoff < 1:
        raise EvaluationError(f"{name!r} cuts a ranking after {cutoff} documents: a cutoff is 1 or more.")
    if not ir_measures.DefaultPipeline.supports(measure):
        raise EvaluationError(f"{name!r} needs a tool that is not installed: choose another measure.")
    return measure


def calculate(
    wanted: Iterable[Measure], qrels: Iterable[Qrel], rankings: Mapping[str, Sequence[str]]
) -> Iterator[tuple[Measure, str, float]]:
    """Yield measure, qid and value for every judged topic; one that ``rankings`` lacks has 0.

    The tools behind ir-measures break ties differently, so they are given scores that have none: the places.
    """
    judged = [ir_measures.Qrel(qrel.qid, qrel.docid, qrel.relevance) for qrel in qrels]
    run = [
        ir_measures.ScoredDoc(qid, docid, float(len(ranking) - place))
        for qid, ranking in rankings.items()
        for place, docid in enumerate(ranking)
    ]
    for metric in ir_measures.iter_calc(list(wanted), judged, run):
        yield metric.measure, metric.query_id, float(metric.value)
