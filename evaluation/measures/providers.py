"""Compute measures with ir-measures, extended by QSR, EvidenceRecall and AllRecall. Only this module imports it.

- QSR is the Query Success Rate of the SHRAG paper (arXiv 2512.00772, section 5.2, equation 6): the share of questions
  whose retrieved set has at least one relevant document.
- EvidenceRecall is the share of the relevant documents that were retrieved. The paper's figure 3 shows it.
- AllRecall is that of HippoRAG (arXiv 2405.14831): the share of questions whose relevant documents were all retrieved.

The SHRAG paper compares *titles*: passages of one article count as that article. So the three measures count either
documents or articles. Importing this module registers them and appends their provider. It replaces no name of
ir-measures, and ir-measures' own providers come first. So every other measure is computed as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from shrag.corpora.records import Qrel
from shrag.evaluation.errors import EvaluationError
from shrag.evaluation.measures.trec_run import trec_ranking
from shrag.indexing.errors import DependencyMissing
from shrag.messages.text import Text

try:
    import ir_measures
    from ir_measures import measures, providers
except ImportError as error:
    raise DependencyMissing(
        Text("Measures need ir-measures ({error}): run `pip install 'shrag[evaluation]'`.", error=error)
    ) from error

Level = Literal["document", "article"]

ARTICLE_MARK = "#"
"""The mark behind the article's identifier in a docid such as MIRACL's ``39#0``."""


def article(docid: str) -> str:
    """Return the article's identifier in ``docid``; a docid without :data:`ARTICLE_MARK` is such an identifier.

    >>> article("39#0"), article("DEMO-EN-001")
    ('39', 'DEMO-EN-001')
    """
    return docid.partition(ARTICLE_MARK)[0] or docid


def success(ranking: Sequence[str], relevant: frozenset[str], cutoff: int | None) -> float:
    """Return 1 if the first ``cutoff`` documents of ``ranking`` (None: all) include a relevant one, else 0."""
    return float(not relevant.isdisjoint(ranking[:cutoff]))


def recall(ranking: Sequence[str], relevant: frozenset[str], cutoff: int | None) -> float:
    """Return the share of ``relevant`` among the first ``cutoff`` of ``ranking`` (None: all); 0 if none is relevant."""
    return len(relevant.intersection(ranking[:cutoff])) / len(relevant) if relevant else 0.0


def all_recall(ranking: Sequence[str], relevant: frozenset[str], cutoff: int | None) -> float:
    """Return 1 if the first ``cutoff`` of ``ranking`` (None: all) include all of ``relevant``, else 0.

    It is also 0 if none is relevant.
    """
    return float(bool(relevant) and relevant.issubset(ranking[:cutoff]))


def ranking_at(ranking: Sequence[str], level: Level) -> list[str]:
    """Return ``ranking`` by document or by article; an article has the position of its best document.

    >>> ranking_at(["39#2", "7#0", "39#0"], "article")
    ['39', '7']
    """
    return list(dict.fromkeys(map(article, ranking))) if level == "article" else list(ranking)


def relevant_at(grades: Mapping[str, int], rel: int, level: Level) -> frozenset[str]:
    """Return the documents graded at least ``rel``, or the articles that have such a document."""
    relevant = (docid for docid, grade in grades.items() if grade >= rel)
    return frozenset(map(article, relevant) if level == "article" else relevant)


Measure: TypeAlias = Any
Judgements: TypeAlias = Any
Ranking: TypeAlias = Any
"""Classes of ir-measures, which has no type annotations."""

_PARAMETERS = {
    "cutoff": measures.ParamInfo(dtype=int, desc="ranking cutoff threshold, in documents or articles"),
    "rel": measures.ParamInfo(dtype=int, default=1, desc="minimum relevance score to be considered relevant"),
    "level": measures.ParamInfo(
        dtype=str, choices=["document", "article"], default="document", desc="what is counted: documents or articles"
    ),
}


def _measure_class(name: str, title: str, summary: str) -> Any:  # noqa: ANN401
    """Return a subclass of ir-measures' Measure, with the attributes that its own measures have."""
    body = {
        "__name__": name,
        "NAME": name,
        "PRETTY_NAME": title,
        "SHORT_DESC": summary,
        "SUPPORTED_PARAMS": _PARAMETERS,
    }
    return type(name, (measures.Measure,), body)


QSR = _measure_class("QSR", "Query Success Rate", "Whether at least one relevant document is retrieved.")()
EvidenceRecall = _measure_class(
    "EvidenceRecall", "Evidence Recall", "Share of the relevant documents that are retrieved."
)()
AllRecall = _measure_class("AllRecall", "All-Recall", "Whether all relevant documents are retrieved.")()

_COMPUTED: dict[str, Callable[[Sequence[str], frozenset[str], int | None], float]] = {
    QSR.NAME: success,
    EvidenceRecall.NAME: recall,
    AllRecall.NAME: all_recall,
}
_ALIASES = {"EvidenceCoverage": QSR}


class _Evaluator(providers.Evaluator):  # type: ignore[misc]
    def __init__(self, requested: Iterable[Measure], qrels: Mapping[str, Mapping[str, int]]) -> None:
        super().__init__(list(requested), list(qrels))
        self._qrels = qrels

    def _iter_calc(self, run: Ranking) -> Iterator[Any]:
        scores = ir_measures.util.RunConverter(run).as_dict_of_dict()
        rankings = {qid: trec_ranking(qid, list(docs), list(docs.values())) for qid, docs in scores.items()}
        for measure in self.measures:
            compute, level, rel = _COMPUTED[measure.NAME], measure["level"], measure["rel"]
            cutoff = measure.params.get("cutoff")
            for qid, grades in self._qrels.items():
                value = compute(ranking_at(rankings.get(qid, []), level), relevant_at(grades, rel, level), cutoff)
                yield ir_measures.Metric(query_id=qid, measure=measure, value=value)


class _Provider(providers.Provider):  # type: ignore[misc]
    NAME = "shrag"
    SUPPORTED_MEASURES = [  # noqa: RUF012
        kind(cutoff=providers.base.Any(), rel=providers.base.Any(), level=providers.base.Any())
        for kind in map(type, (QSR, EvidenceRecall, AllRecall))
    ]

    def _evaluator(self, requested: Iterable[Measure], qrels: Judgements) -> _Evaluator:
        return _Evaluator(requested, ir_measures.util.QrelsConverter(qrels).as_dict_of_dict())


def _register() -> None:
    ours = {each.NAME: each for each in (QSR, EvidenceRecall, AllRecall)} | _ALIASES
    taken = [name for name in ours if name in measures.registry]
    if taken:
        raise EvaluationError(
            Text(
                "Another package has registered a measure {taken} with ir-measures: import only one of the two.",
                taken=taken[0],
            )
        )
    measures.registry.update(ours)
    ir_measures.DefaultPipeline.providers.append(providers.register(_Provider()))


_register()

_TOOLS = providers.FallbackProvider(
    [ir_measures.pytrec_eval, ir_measures.judged, ir_measures.msmarco, ir_measures.compat, providers.registry["shrag"]]
)
"""The providers in use, trec_eval's own code first.

Some providers of ir-measures are left out: they start Perl, are not installed with it, or fail on runs without a
relevant document.
"""

_LARGEST_CUTOFF = 1_000_000

LARGEST_GRADE = 10_000
"""Largest accepted grade. trec_eval allocates a counter for every grade, so 2,000,000,000 would fill the memory."""


def parse_measure(name: str) -> Measure:
    """Return the measure that is called ``name`` in ir-measures' notation; its ``str`` is that notation again.

    Raises :class:`EvaluationError` if the name or a parameter is invalid, or if nothing installed computes the measure.
    """
    try:
        measure = ir_measures.parse_measure(name)
        measure.validate_params()
    except (NameError, SyntaxError, ValueError, TypeError, KeyError, AssertionError, AttributeError):
        raise EvaluationError(
            Text(
                "{name!r} is not a measure: write it as ir-measures does, such as nDCG@10, R@100, RR@10, "
                "QSR@50 or QSR(level='article')@50.",
                name=name,
            )
        ) from None
    _check_numbers(name, measure.params)
    if not _TOOLS.supports(measure):
        raise EvaluationError(
            Text("{name!r} needs a tool that is not installed: choose another measure, such as nDCG@10.", name=name)
        )
    return measure


def with_least_grade(measure: Measure, grade: int) -> Measure:
    """Return the measure with ``rel=grade`` if it has that parameter and does not set it, else unchanged."""
    if grade == 1 or "rel" not in measure.SUPPORTED_PARAMS or "rel" in measure.params:
        return measure
    return measure(rel=grade)


def _check_numbers(name: str, parameters: Mapping[str, Any]) -> None:
    """Reject invalid parameters, which ir-measures would pass unchecked to C code."""
    cutoff = parameters.get("cutoff", 1)
    if isinstance(cutoff, bool) or not 1 <= cutoff <= _LARGEST_CUTOFF:
        raise EvaluationError(
            Text(
                "{name!r} has the cutoff {cutoff}: give one from 1 to {largest_cutoff:,}.",
                name=name,
                cutoff=cutoff,
                largest_cutoff=_LARGEST_CUTOFF,
            )
        )
    grades = [parameters.get("rel", 1), *parameters.get("gains", {}).values()]
    if not all(isinstance(grade, int) and 0 <= grade <= LARGEST_GRADE for grade in grades) or grades[0] < 1:
        raise EvaluationError(
            Text(
                "{name!r} has a grade out of range: rel is from 1, gains are from 0, up to {largest_grade:,}.",
                name=name,
                largest_grade=LARGEST_GRADE,
            )
        )


def calculate(
    requested: Iterable[Measure], qrels: Sequence[Qrel], rankings: Mapping[str, Sequence[str]]
) -> Iterator[tuple[Measure, str, float]]:
    """Yield (measure, qid, value) for every judged topic; a topic that ``rankings`` lacks has the value 0.

    ``rankings`` is qid → docids, best first. The tools behind ir-measures break ties differently. So they get scores
    without ties, made from the ranks. Raises :class:`EvaluationError` for a grade larger than :data:`LARGEST_GRADE`.
    """
    run = {
        qid: dict(zip(ranking, map(float, range(len(ranking), 0, -1)), strict=True))
        for qid, ranking in rankings.items()
    }
    for metric in _TOOLS.iter_calc(list(requested), _safe_qrels(qrels), run):
        yield metric.measure, metric.query_id, float(metric.value)


def _safe_qrels(qrels: Sequence[Qrel]) -> dict[str, dict[str, int]]:
    """Return qid → docid → grade, safe for pytrec_eval.

    pytrec_eval 0.5 writes beyond its memory if all grades of a topic are negative. Such a topic gets zeros: a negative
    grade is as irrelevant as 0.
    """
    topics: dict[str, dict[str, int]] = {}
    for qrel in qrels:
        if abs(qrel.relevance) > LARGEST_GRADE:
            raise EvaluationError(
                Text(
                    "Topic {qid} grades {docid} with {relevance}: a grade is at most {largest_grade:,}.",
                    qid=qrel.qid,
                    docid=qrel.docid,
                    relevance=qrel.relevance,
                    largest_grade=LARGEST_GRADE,
                )
            )
        topics.setdefault(qrel.qid, {})[qrel.docid] = qrel.relevance
    return {qid: grades if max(grades.values()) >= 0 else dict.fromkeys(grades, 0) for qid, grades in topics.items()}
