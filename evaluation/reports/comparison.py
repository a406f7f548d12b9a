"""Compare two conditions of results folders, set by set and question by question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.experiments.run_card import CARD_FILE
from shrag.evaluation.experiments.spec import Condition
from shrag.evaluation.reports.result_folder import ResultFolder, Values, mean_values, open_results
from shrag.evaluation.statistics.comparison import Change, Difference, compare, largest_changes, over_shared_topics
from shrag.messages.text import Text


class ChosenCondition(NamedTuple):
    """A condition of a results folder."""

    results: ResultFolder
    condition: Condition


class SetComparison(NamedTuple):
    """Condition B compared with A over one set; ``questions`` is qid → text."""

    set: str
    differences: list[Difference]
    changes: list[Change]
    questions: dict[str, str]


def is_results_path(given: str) -> bool:
    """Return whether ``given`` is ``FOLDER`` or ``FOLDER:CONDITION`` of a results folder."""
    return any((folder / CARD_FILE).is_file() for folder in (Path(given), Path(given.rpartition(":")[0] or given)))


def choose_condition(given: str) -> ChosenCondition:
    """Return the condition that ``FOLDER:CONDITION`` names. ``FOLDER`` alone names its baseline or only condition.

    Raises:
        ResultsMismatch: There are no complete results or no such condition, or ``FOLDER`` alone has several conditions
            and no baseline.
    """
    folder, name = Path(given), ""
    if not (folder / CARD_FILE).is_file():
        before, _, name = given.rpartition(":")
        folder = Path(before)
    results, _ = open_results(folder)
    experiment = results.experiment
    conditions = {condition.name: condition for condition in experiment.conditions}
    chosen = name or experiment.baseline or (next(iter(conditions)) if len(conditions) == 1 else "")
    if chosen not in conditions:
        missing = Text("no condition {name!r}", name=name)
        what = missing if name else Text("several conditions and no baseline")
        raise ResultsMismatch(
            Text(
                "{folder} has {problem}: write {folder}:CONDITION with one of {conditions}.",
                folder=folder,
                problem=what,
                conditions=", ".join(conditions),
            )
        )
    return ChosenCondition(results, conditions[chosen])


def compare_conditions(
    a: ChosenCondition, b: ChosenCondition, *, count: int, by: str | None = None, level: float = 0.95
) -> Iterator[SetComparison]:
    """Yield the comparison of B with A over each set that both have, in A's order.

    It is by the measures that both have, over the questions that both have by the measure.

    Args:
        a: Condition A.
        b: Condition B.
        count: Number of questions to return, those whose value changed most.
        by: The measure of these changes; None for the first. Sets without it are left out.
        level: Confidence level of the intervals.

    Raises:
        ResultsMismatch: The two have no set or measure in common, or the questions or judgements of a set differ.
    """
    shared_measures: dict[str, None] = {}
    any_compared = False
    shared = [each.name for each in a.results.experiment.sets if each.name in _set_names(b)]
    if not shared:
        raise ResultsMismatch(
            Text(
                "{folder} and {other} have no set in common: nothing to compare.",
                folder=a.results.folder,
                other=b.results.folder,
            )
        )
    for name in shared:
        if _judgements(a, name) != _judgements(b, name):
            raise ResultsMismatch(
                Text(
                    "The set {name} has other questions or judgements in {folder} than in {other}: run both "
                    "over the same.",
                    name=name,
                    folder=b.results.folder,
                    other=a.results.folder,
                )
            )
        values_a, values_b = _values(a, name), _values(b, name)
        shared_topics = {
            measure: over_shared_topics(values, values_b[measure])
            for measure, values in values_a.items()
            if measure in values_b
        }
        measures = [measure for measure, (both, _) in shared_topics.items() if both]
        shared_measures |= dict.fromkeys(measures)
        chosen = by or next(iter(measures), "")
        if chosen not in measures:
            continue
        any_compared = True
        differences = compare(
            {measure: shared_topics[measure][0] for measure in measures},
            {measure: shared_topics[measure][1] for measure in measures},
            level=level,
        )
        changes = largest_changes(*shared_topics[chosen], count)
        questions = {topic.qid: topic.text for topic in a.results.topics(name)}
        yield SetComparison(name, differences, changes, questions)
    if not any_compared:
        raise ResultsMismatch(
            Text(
                "{measure} is not measured in both: use one of {measures}.",
                measure=by,
                measures=", ".join(shared_measures),
            )
        )


def _set_names(chosen: ChosenCondition) -> set[str]:
    return {each.name for each in chosen.results.experiment.sets}


def _judgements(chosen: ChosenCondition, set_name: str) -> object:
    """Return the set's judgements, or its references if it has no judgements."""
    return chosen.results.qrels(set_name) or chosen.results.references(set_name)


def _values(chosen: ChosenCondition, set_name: str) -> Values:
    parts = chosen.results.parts(set_name, chosen.condition)
    return mean_values([chosen.results.values(part) for part in parts])
