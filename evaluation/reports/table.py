"""Table of an experiment: means with intervals, compared with the baseline."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from shrag.corpora.files import replace_durably
from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.experiments.spec import Condition
from shrag.evaluation.questions.figures import ANSWER_FIGURES, PROCESS_FIGURES, ChoiceLevels, choice_levels
from shrag.evaluation.questions.outcome import Outcome
from shrag.evaluation.reports.result_folder import ResultFolder, Values, mean_values
from shrag.evaluation.statistics import comparison
from shrag.evaluation.statistics.intervals import mean_interval

TABLE_FILE = "table.json"

LEVEL = 0.95
"""Of every interval."""

SIGNIFICANT = 0.05
"""A difference whose p, corrected, is smaller is marked."""


class Difference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Mean difference to the baseline over the same questions, its interval, and how likely it is by chance.

    ``p`` is two-sided, by paired randomisation; ``p_holm`` is corrected over all conditions of the set and all
    measures, or all figures. ``wins`` counts the questions on which the condition is higher than the baseline.
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
        """``+`` or ``-`` where the difference is significant, else empty."""
        if self.p_holm >= SIGNIFICANT:
            return ""
        return "+" if self.mean > 0 else "-"


class Cell(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A measure's mean over the questions and its bootstrap interval.

    ``repeats`` are the means of each repeat, one where there is one; their spread is what chance in the condition does,
    the interval what the choice of questions does.
    """

    mean: float
    low: float
    high: float
    repeats: tuple[float, ...]
    against: Difference | None = None

    @property
    def spread(self) -> float | None:
        """The standard deviation of the repeats' means, None for fewer than two."""
        return statistics.stdev(self.repeats) if len(self.repeats) > 1 else None


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One condition over one set.

    Counts are over all repeats: questions with an error, without a record, done without the model because it failed.
    """

    condition: str
    label: str
    group: str
    settings: dict[str, object]
    questions: int
    errors: int
    empty: int
    fallbacks: int
    cells: dict[str, Cell]


class SetTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rows of one set, in the conditions' order, and where its questions have choices, what those are worth."""

    set: str
    questions: int
    rows: tuple[Row, ...]
    levels: ChoiceLevels | None = None


class ResultTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an experiment found.

    ``measures`` are its own, ``figures`` those of the way to the ranking, ``answers`` those of answers beside their
    references, none where there are no references. A row lacks the cells of what its condition or its set has not.
    """

    title: str
    question: str
    source: str
    baseline: str
    measures: tuple[str, ...]
    figures: tuple[str, ...]
    sets: tuple[SetTable, ...]
    answers: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All of them, in the order in which they are shown."""
        return (*self.measures, *self.figures, *self.answers)

    def columns_of(self, each: SetTable) -> tuple[str, ...]:
        """Those that a row of the set has."""
        had = {name for row in each.rows for name in row.cells}
        return tuple(name for name in self.columns if name in had)


def make_table(results: ResultFolder) -> ResultTable:
    """Judge every part and compare the conditions; the same folder always gives the same table."""
    experiment = results.experiment
    sets = tuple(_set_table(results, each.name) for each in experiment.sets)
    had = {name for each in sets for row in each.rows for name in row.cells}
    return ResultTable(
        title=experiment.title,
        question=experiment.question,
        source=experiment.source,
        baseline=experiment.baseline,
        measures=experiment.measures,
        figures=tuple(PROCESS_FIGURES),
        sets=sets,
        answers=tuple(name for name in ANSWER_FIGURES if name in had),
    )


def write_table(folder: Path, table: ResultTable) -> None:
    """Write the table as JSON."""
    replace_durably(folder / TABLE_FILE, msgspec.json.format(msgspec.json.encode(table), indent=2) + b"\n")


def read_table(folder: Path) -> ResultTable:
    """Return the folder's table; raises :class:`ResultsMismatch` where it is missing or damaged."""
    path = folder / TABLE_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=ResultTable)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ResultsMismatch(f"{path} cannot be read ({error}): go on with `shrag experiment … --resume`.") from None


def _set_table(results: ResultFolder, set_name: str) -> SetTable:
    experiment = results.experiment
    repeats = {
        condition.name: [results.values(part) for part in results.parts(set_name, condition)]
        for condition in experiment.conditions
    }
    means = {name: mean_values(values) for name, values in repeats.items()}
    against: dict[tuple[str, str], Difference] = {}
    if experiment.baseline:
        # What an experiment measures is what it claims something of: its figures are corrected apart.
        for family in (experiment.measures, tuple(PROCESS_FIGURES), ANSWER_FIGURES):
            against |= _differences(means, family, experiment.baseline, experiment.seed)
    rows = []
    for condition in experiment.conditions:
        outcomes = [outcome for part in results.parts(set_name, condition) for outcome in results.outcomes(part)]
        cells = {
            measure: _cell(
                list(values.values()),
                [each[measure] for each in repeats[condition.name]],
                against.get((condition.name, measure)),
                experiment.seed,
            )
            for measure, values in means[condition.name].items()
        }
        rows.append(_row(condition, outcomes, cells))
    levels = choice_levels(results.references(set_name).values())
    return SetTable(set_name, len(results.topics(set_name)), tuple(rows), levels)


def _row(condition: Condition, outcomes: Sequence[Outcome], cells: dict[str, Cell]) -> Row:
    return Row(
        condition=condition.name,
        label=condition.shown,
        group=condition.group or condition.name,
        settings=condition.settings,
        questions=len(outcomes),
        errors=sum(bool(outcome.error) for outcome in outcomes),
        empty=sum(not outcome.found for outcome in outcomes),
        fallbacks=sum(bool(outcome.fallbacks) for outcome in outcomes),
        cells=cells,
    )


def _cell(
    values: Sequence[float], repeats: Sequence[Mapping[str, float]], against: Difference | None, seed: int
) -> Cell:
    interval = mean_interval(values, seed=seed, level=LEVEL)
    return Cell(
        mean=statistics.fmean(values),
        low=interval.low,
        high=interval.high,
        repeats=tuple(statistics.fmean(each.values()) for each in repeats),
        against=against,
    )


def _differences(
    means: Mapping[str, Values], family: Sequence[str], baseline: str, seed: int
) -> dict[tuple[str, str], Difference]:
    """Return each other condition's difference to the baseline by each measure of the family that both have."""
    shared = [measure for measure in family if measure in means[baseline]]
    others = {name: values for name, values in means.items() if name != baseline}
    own = {measure: means[baseline][measure] for measure in shared}
    # One that does not answer has no figure of answers, and is compared by the others alone.
    chosen = {
        name: {measure: values[measure] for measure in shared}
        for name, values in others.items()
        if all(measure in values for measure in shared)
    }
    compared = comparison.compare_all(own, chosen, seed=seed, level=LEVEL) if shared else {}
    return {(name, each.measure): _difference(each) for name, found in compared.items() for each in found}


def _difference(found: comparison.Difference) -> Difference:
    low, high = found.interval
    return Difference(found.difference, low, high, found.p, found.p_holm, found.wins, found.ties, found.losses)
