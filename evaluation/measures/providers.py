"""ir-measures with this project's own measures: QSR, evidence recall, all-recall.

Importing this module registers the three under their names and appends their provider to the ones there are. No name
that ir-measures has is touched, and its providers are asked first, so every other measure is computed as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import ir_measures
from ir_measures import measures, providers

from shrag.corpora.records import Qrel
from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.measures.query_success import all_recall, ranking_at, recall, relevant_at, success
from shrag.evaluation.measures.trec_run import trec_ranking

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


class _AllRecall(measures.Measure):  # type: ignore[misc]
    """1 where all relevant documents are in the collected set, else 0."""

    __name__ = "AllRecall"
    NAME = __name__
    PRETTY_NAME = "All-Recall"
    SHORT_DESC = "Whether the collected set has every relevant document."
    SUPPORTED_PARAMS = _PARAMETERS


QSR = _QSR()
EvidenceRecall = _EvidenceRecall()
AllRecall = _AllRecall()

_COMPUTED: dict[str, Callable[[Sequence[str], frozenset[str], int | None], float]] = {
    QSR.NAME: success,
    EvidenceRecall.NAME: recall,
    AllRecall.NAME: all_recall,
}
_ALIASES = {"EvidenceCoverage": QSR}


class _Evaluator(providers.Evaluator):  # type: ignore[misc]
    def __init__(self, wanted: Iterable[Measure], qrels: Mapping[str, Mapping[str, int]]) -> None:
        super().__init__(list(wanted), list(qrels))
        self._qrels = qrels

    def _iter_calc(self, run: Ranking) -> Iterator[Any]:
        scores = ir_measures.util.RunConverter(run).as_dict_of_dict()
        rankings = {qid: trec_ranking(qid, list(docs), list(docs.values())) for qid, docs in scores.items()}
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
        for kind in (_QSR, _EvidenceRecall, _AllRecall)
    ]

    def _evaluator(self, wanted: Iterable[Measure], qrels: Judgements) -> _Evaluator:
        return _Evaluator(wanted, ir_measures.util.QrelsConverter(qrels).as_dict_of_dict())


def _register() -> None:
    ours = {each.NAME: each for each in (QSR, EvidenceRecall, AllRecall)} | _ALIASES
    taken = [name for name in ours if name in measures.registry]
    if taken:
        raise EvaluationError(f"Another package has given ir-measures a measure {taken[0]}: import one of the two.")
    measures.registry.update(ours)
    ir_measures.DefaultPipeline.providers.append(providers.register(_Provider()))


_register()

_TOOLS = providers.FallbackProvider(
    [ir_measures.pytrec_eval, ir_measures.judged, ir_measures.msmarco, ir_measures.compat, providers.registry["shrag"]]
)
"""What computes here: trec_eval's own code first. Left out are the tools of ir-measures that start Perl, are not
installed with it, or fail on runs without a relevant document."""

_LARGEST_CUTOFF = 1_000_000

LARGEST_GRADE = 10_000
"""trec_eval sets up a counter for every grade up to the largest of a topic: a stray 2,000,000,000 fills the memory."""


def parse_measure(name: str) -> Measure:
    """Return the measure that a name of ir-measures' notation stands for; its ``str`` is that notation again."""
    try:
        measure = ir_measures.parse_measure(name)
        measure.validate_params()
    except (NameError, SyntaxError, ValueError, TypeError, KeyError, AssertionError, AttributeError):
        raise EvaluationError(
            f"{name!r} is no measure: write it as ir-measures does, such as nDCG@10, R@100, RR@10, QSR@50 or "
            "QSR(level='article')@50."
        ) from None
    _check_numbers(name, measure.params)
    if not _TOOLS.supports(measure):
        raise EvaluationError(f"{name!r} is a measure that nothing here computes: choose another, such as nDCG@10.")
    return measure


def _check_numbers(name: str, parameters: Mapping[str, Any]) -> None:
    """Refuse what ir-measures lets through to code in C that does not look."""
    cutoff = parameters.get("cutoff", 1)
    if isinstance(cutoff, bool) or not 1 <= cutoff <= _LARGEST_CUTOFF:
        raise EvaluationError(f"{name!r} cuts a ranking at {cutoff}: a cutoff is from 1 to {_LARGEST_CUTOFF:,}.")
    grades = [parameters.get("rel", 1), *parameters.get("gains", {}).values()]
    if not all(isinstance(grade, int) and 0 <= grade <= LARGEST_GRADE for grade in grades) or grades[0] < 1:
        raise EvaluationError(
            f"{name!r} asks for grades beyond those there are: rel is from 1 to {LARGEST_GRADE:,}, gains are from 0."
        )


def calculate(
    wanted: Iterable[Measure], qrels: Sequence[Qrel], rankings: Mapping[str, Sequence[str]]
) -> Iterator[tuple[Measure, str, float]]:
    """Yield measure, qid and value for every judged topic; one that ``rankings`` lacks has 0.

    The tools behind ir-measures break ties differently, so they are given scores that have none: the places. Raises
    :class:`EvaluationError` for a grade beyond :data:`LARGEST_GRADE`.
    """
    run = {
        qid: dict(zip(ranking, map(float, range(len(ranking), 0, -1)), strict=True))
        for qid, ranking in rankings.items()
    }
    for metric in _TOOLS.iter_calc(list(wanted), _safe(qrels), run):
        yield metric.measure, metric.query_id, float(metric.value)


def _safe(qrels: Sequence[Qrel]) -> dict[str, dict[str, int]]:
    """Return qid → docid → grade such that trec_eval's code can take it.

    Where all grades of a topic are negative, pytrec_eval 0.5 writes past its memory and crashes, or hangs, or not. A
    negative grade is as little relevant as 0, so such a topic gets zeros.
    """
    topics: dict[str, dict[str, int]] = {}
    for qrel in qrels:
        if abs(qrel.relevance) > LARGEST_GRADE:
            raise EvaluationError(
                f"Topic {qrel.qid} grades {qrel.docid} with {qrel.relevance}: a grade is at most {LARGEST_GRADE:,}."
            )
        topics.setdefault(qrel.qid, {})[qrel.docid] = qrel.relevance
    return {qid: grades if max(grades.values()) >= 0 else dict.fromkeys(grades, 0) for qid, grades in topics.items()}
