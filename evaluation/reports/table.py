"""Make the results table of an experiment: means with intervals, and tested differences from the baseline."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from shrag.corpora.files import write_atomically
from shrag.evaluation.experiments.spec import Condition, Expected, PaperItem
from shrag.evaluation.judging.figures import JUDGE_FIGURES
from shrag.evaluation.judging.record_relevance import RELEVANCE_FIGURES
from shrag.evaluation.questions.confidence_scores import (
    ConfidenceScores,
    answering_records,
    confidence_cases,
    score_confidence,
)
from shrag.evaluation.questions.figures import (
    ANSWER_FIGURES,
    OUTCOME_FIGURES,
    PROCESS_FIGURES,
    ChoiceBaselines,
    choice_baselines,
)
from shrag.evaluation.questions.outcome import QuestionOutcome
from shrag.evaluation.questions.tree_figures import TREE_FIGURES
from shrag.evaluation.reports.result_folder import ResultFolder, Values, mean_values, read_result_file
from shrag.evaluation.statistics import comparison
from shrag.evaluation.statistics.intervals import bootstrap_interval, mean_interval

TABLE_FILE = "table.json"

_FIGURES = (*ANSWER_FIGURES, *JUDGE_FIGURES, *TREE_FIGURES, *RELEVANCE_FIGURES)

LEVEL = 0.95
"""The confidence level of every interval."""

SIGNIFICANT = 0.05
"""A difference is significant if its corrected p is smaller than this."""


class BaselineDifference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A condition's mean difference from the baseline over the same questions.

    Attributes:
        mean: The difference of the means. Its interval is from ``low`` to ``high``.
        p: Two-sided p of a paired randomization test.
        p_holm: p after Holm's correction over the set's conditions and the measures of the same family: the
            experiment's measures are one family, and each kind of figures is another.
        wins: Number of questions with a higher value than the baseline's; ``ties`` and ``losses`` likewise.
    """

    mean: float
    low: float
    high: float
    p: float
    p_holm: float
    wins: int
    ties: int
    losses: int

    @property
    def sign(self) -> str:
        """``+`` or ``-`` for a significant difference, else empty."""
        if self.p_holm >= SIGNIFICANT:
            return ""
        return "+" if self.mean > 0 else "-"


class ResultCell(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A measure's mean over the questions, with its interval.

    ``repeats`` has the mean of each repeat. Their spread shows the effect of chance in the condition, the interval that
    of the choice of questions.
    """

    mean: float
    low: float
    high: float
    repeats: tuple[float, ...]
    difference: BaselineDifference | None = None

    @property
    def spread(self) -> float | None:
        """The standard deviation of the repeats' means; None for fewer than two repeats."""
        return statistics.stdev(self.repeats) if len(self.repeats) > 1 else None


class ResultRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The results of one condition over one set.

    ``questions`` and the counts are over all repeats. ``errors`` counts questions that could not be asked, ``empty``
    those without a record, ``fallbacks`` those done without the language model because it failed.
    """

    condition: str
    label: str
    group: str
    settings: dict[str, object]
    questions: int
    errors: int
    empty: int
    fallbacks: int
    cells: dict[str, ResultCell]


class OtherSetDifferences(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The differences of a set from the set ``other``, over the questions that both have.

    ``differences`` is condition → measure → difference. Holm's correction is over all conditions and measures.
    """

    other: str
    questions: int
    differences: dict[str, dict[str, BaselineDifference]]


class SetTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rows of one set, in the order of the conditions.

    Attributes:
        set: The name of the set.
        questions: Number of its questions.
        rows: One row for each condition.
        choice_baselines: Baselines of choice accuracy; None without choices.
        compared: Differences from the set with which it is compared; None without such a set.
        confidence: Condition → scores of its confidence; empty for a set without unanswerable questions.
    """

    set: str
    questions: int
    rows: tuple[ResultRow, ...]
    choice_baselines: ChoiceBaselines | None = None
    compared: OtherSetDifferences | None = None
    confidence: dict[str, ConfidenceScores] = {}


class ResultTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The results of an experiment.

    ``measures`` are the experiment's. ``answer_measures`` are the figures of answers, judges and trees in any row. A
    row has a cell only if its condition and set have values for it. ``paper`` is the table or figure that the
    experiment repeats, and ``expected`` has the values that it prints.
    """

    title: str
    question: str
    source: str
    baseline: str
    measures: tuple[str, ...]
    candidate_measures: tuple[str, ...]
    sets: tuple[SetTable, ...]
    answer_measures: tuple[str, ...] = ()
    paper: PaperItem | None = None
    expected: tuple[Expected, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All measures, in display order."""
        return (*self.measures, *self.candidate_measures, *self.answer_measures)

    def columns_of(self, each: SetTable) -> tuple[str, ...]:
        """Return the columns that some row of the set has."""
        present = {name for row in each.rows for name in row.cells}
        return tuple(name for name in self.columns if name in present)


def make_table(results: ResultFolder) -> ResultTable:
    """Evaluate every part and compare the conditions. The table depends only on the files of the folder."""
    experiment = results.experiment
    sets = tuple(_set_table(results, each.name) for each in experiment.sets)
    present = {name for each in sets for row in each.rows for name in row.cells}
    return ResultTable(
        title=experiment.title,
        question=experiment.question,
        source=experiment.source,
        baseline=experiment.baseline,
        measures=experiment.measures,
        candidate_measures=tuple(PROCESS_FIGURES),
        sets=sets,
        answer_measures=tuple(name for name in _FIGURES if name in present),
        paper=experiment.paper,
        expected=experiment.expected,
    )


def write_table(folder: Path, table: ResultTable) -> None:
    """Write the table as JSON."""
    write_atomically(folder / TABLE_FILE, msgspec.json.format(msgspec.json.encode(table), indent=2) + b"\n")


def read_table(folder: Path) -> ResultTable:
    """Return the table of a results folder.

    Raises :class:`~shrag.evaluation.errors.ResultsMismatch` if it is missing or damaged.
    """
    return read_result_file(folder / TABLE_FILE, ResultTable)


def _set_table(results: ResultFolder, set_name: str) -> SetTable:
    experiment = results.experiment
    repeats = {
        condition.name: [results.values(part) for part in results.parts(set_name, condition)]
        for condition in experiment.conditions
    }
    means = {name: mean_values(values) for name, values in repeats.items()}
    differences: dict[tuple[str, str], BaselineDifference] = {}
    if experiment.baseline:
        # The experiment's claims are about its measures, so Holm's correction treats figures separately.
        others = tuple(name for name in ANSWER_FIGURES if name not in OUTCOME_FIGURES)
        families = (
            experiment.measures,
            tuple(PROCESS_FIGURES),
            (*others, *JUDGE_FIGURES),
            OUTCOME_FIGURES,
            TREE_FIGURES,
            RELEVANCE_FIGURES,
        )
        for family in families:
            differences |= _differences(means, family, experiment.baseline, experiment.seed)
    rows = []
    for condition in experiment.conditions:
        outcomes = [outcome for part in results.parts(set_name, condition) for outcome in results.outcomes(part)]
        cells = {
            measure: _cell(
                measure,
                list(values.values()),
                [each[measure] for each in repeats[condition.name] if measure in each],
                differences.get((condition.name, measure)),
                experiment.seed,
            )
            for measure, values in means[condition.name].items()
        }
        rows.append(_row(condition, outcomes, cells))
    return SetTable(
        set_name,
        len(results.topics(set_name)),
        tuple(rows),
        choice_baselines(results.references(set_name).values()),
        _compare_with_other(results, set_name, means),
        _confidence(results, set_name),
    )


def _compare_with_other(
    results: ResultFolder, set_name: str, means: Mapping[str, Values]
) -> OtherSetDifferences | None:
    """Return the differences from the other set in the experiment's measures; None without another set."""
    other = results.judged_set(set_name).compare_with
    if not other:
        return None
    pairs: dict[tuple[str, str], tuple[dict[str, float], dict[str, float]]] = {}
    for condition in results.experiment.conditions:
        values = mean_values([results.values(part) for part in results.parts(other, condition)])
        for measure in results.experiment.measures:
            own = means[condition.name].get(measure, {})
            pairs[condition.name, measure] = comparison.over_shared_topics(values.get(measure, {}), own)
    shared = len(next(iter(pairs.values()))[0])
    differences: dict[str, dict[str, BaselineDifference]] = {}
    for (name, measure), difference in _compare_pairs(pairs, results.experiment.seed).items():
        differences.setdefault(name, {})[measure] = difference
    return OtherSetDifferences(other, shared, differences)


def _confidence(results: ResultFolder, set_name: str) -> dict[str, ConfidenceScores]:
    """Return the scores of each condition's first repeat; empty for a set without unanswerable questions."""
    unanswerable = {qid: each.kind for qid, each in results.references(set_name).items() if not each.answerable}
    if not unanswerable:
        return {}
    answering = answering_records(results.qrels(set_name), results.judged_set(set_name).min_grade)
    scores: dict[str, ConfidenceScores] = {}
    for condition in results.experiment.conditions:
        outcomes = results.outcomes(results.parts(set_name, condition)[0])
        cases = confidence_cases(outcomes, answering, unanswerable)
        scores[condition.name] = score_confidence(cases, seed=results.experiment.seed, level=LEVEL)
    return scores


def _row(condition: Condition, outcomes: Sequence[QuestionOutcome], cells: dict[str, ResultCell]) -> ResultRow:
    return ResultRow(
        condition=condition.name,
        label=condition.display_name,
        group=condition.group or condition.name,
        settings=condition.settings,
        questions=len(outcomes),
        errors=sum(bool(outcome.error) for outcome in outcomes),
        empty=sum(not outcome.num_retrieved for outcome in outcomes),
        fallbacks=sum(bool(outcome.fallbacks) for outcome in outcomes),
        cells=cells,
    )


_ABOVE_ONE = frozenset({"num_candidates", "semantic_coherence", "overall_assessment"})
"""Figures whose scale does not end at 1: values that are all 1 are not a proportion."""


def _cell(
    measure: str,
    values: Sequence[float],
    repeats: Sequence[Mapping[str, float]],
    difference: BaselineDifference | None,
    seed: int,
) -> ResultCell:
    interval_of = bootstrap_interval if measure in _ABOVE_ONE else mean_interval
    interval = interval_of(values, seed=seed, level=LEVEL)
    return ResultCell(
        mean=statistics.fmean(values),
        low=interval.low,
        high=interval.high,
        repeats=tuple(statistics.fmean(each.values()) for each in repeats),
        difference=difference,
    )


def _differences(
    means: Mapping[str, Values], family: Sequence[str], baseline: str, seed: int
) -> dict[tuple[str, str], BaselineDifference]:
    """Return (condition, measure) → difference from the baseline, by each measure of ``family`` that both have.

    It is over the questions that both have by the measure. A condition that only searches has no figures of answers,
    and a judge reads the records of other questions in each condition. Holm's correction is over all differences.
    """
    pairs = {
        (name, measure): comparison.over_shared_topics(means[baseline].get(measure, {}), values.get(measure, {}))
        for name, values in means.items()
        if name != baseline
        for measure in family
    }
    return _compare_pairs({key: pair for key, pair in pairs.items() if pair[0]}, seed)


def _compare_pairs(
    pairs: Mapping[tuple[str, str], tuple[Mapping[str, float], Mapping[str, float]]], seed: int
) -> dict[tuple[str, str], BaselineDifference]:
    """Return (condition, measure) → difference of the second values from the first, corrected over all pairs."""
    first, second = ({"\t".join(key): pair[side] for key, pair in pairs.items()} for side in (0, 1))
    found = comparison.compare(first, second, seed=seed, level=LEVEL)
    return {key: _difference(each) for key, each in zip(pairs, found, strict=True)}


def _difference(found: comparison.Difference) -> BaselineDifference:
    low, high = found.interval
    return BaselineDifference(found.difference, low, high, found.p, found.p_holm, found.wins, found.ties, found.losses)
