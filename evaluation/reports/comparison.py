"""Comparison of two conditions, set by set and question by question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.experiments.run_card import CARD_FILE
from shrag.evaluation.experiments.spec import Condition
from shrag.evaluation.reports.result_folder import ResultFolder, Values, mean_values, open_results
from shrag.evaluation.statistics.comparison import Change, Difference, compare, largest_changes


class Chosen(NamedTuple):
    """A condition of a folder of results."""

    results: ResultFolder
    condition: Condition


class Compared(NamedTuple):
    """What B's condition does differently from A's over one set; ``questions`` has the text of each by its qid."""

    set: str
    differences: list[Difference]
    changes: list[Change]
    questions: dict[str, str]


def names_results(given: str) -> bool:
    """Say whether ``given`` is a folder of results, or one and a condition: ``FOLDER`` or ``FOLDER:CONDITION``."""
    return any((folder / CARD_FILE).is_file() for folder in (Path(given), Path(given.rpartition(":")[0] or given)))


def choose_condition(given: str) -> Chosen:
    """Return what ``FOLDER:CONDITION`` names; ``FOLDER`` alone names its baseline, or its only condition.

    Raises :class:`ResultsMismatch` naming the conditions there are.
    """
    folder, name = Path(given), ""
    if not (folder / CARD_FILE).is_file():
        before, _, name = given.rpartition(":")
        folder = Path(before)
    results, _ = open_results(folder)
    experiment = results.experiment
    conditions = {condition.name: condition for condition in experiment.conditions}
    wanted = name or experiment.baseline or (next(iter(conditions)) if len(conditions) == 1 else "")
    if wanted not in conditions:
        what = f"no condition {name!r}" if name else "several conditions and no baseline"
        raise ResultsMismatch(f"{folder} has {what}: write {folder}:CONDITION with one of {', '.join(conditions)}.")
    return Chosen(results, conditions[wanted])


def compare_conditions(
    a: Chosen, b: Chosen, *, count: int, by: str | None = None, level: float = 0.95
) -> Iterator[Compared]:
    """Yield the comparison over each set that both have, in A's order, by the measures that both have.

    ``count`` questions are those that changed most by the measure ``by``, the first where it is not given; sets that
    were not measured by it are left out. Raises :class:`ResultsMismatch` where they share no set or no measure, or a
    set's questions or judgements are not the same.
    """
    had: dict[str, None] = {}
    found = False
    shared = [each.name for each in a.results.experiment.sets if each.name in _set_names(b)]
    if not shared:
        raise ResultsMismatch(f"{a.results.folder} and {b.results.folder} have no set in common: nothing to compare.")
    for name in shared:
        if _counting(a, name) != _counting(b, name):
            raise ResultsMismatch(
                f"The set {name} has other questions or judgements in {b.results.folder} than in {a.results.folder}: "
                "run both over the same."
            )
        values_a, values_b = _values(a, name), _values(b, name)
        measures = [measure for measure in values_a if measure in values_b]
        had |= dict.fromkeys(measures)
        chosen = by or measures[0]
        if chosen not in measures:
            continue
        found = True
        differences = compare(
            {measure: values_a[measure] for measure in measures},
            {measure: values_b[measure] for measure in measures},
            level=level,
        )
        changes = largest_changes(values_a[chosen], values_b[chosen], count)
        questions = {topic.qid: topic.text for topic in a.results.topics(name)}
        yield Compared(name, differences, changes, questions)
    if not found:
        raise ResultsMismatch(f"{by} is not measured in both: use one of {', '.join(had)}.")


def _set_names(chosen: Chosen) -> set[str]:
    return {each.name for each in chosen.results.experiment.sets}


def _counting(chosen: Chosen, set_name: str) -> object:
    """Return what a set's questions are held against: judgements, and references where there are none."""
    return chosen.results.qrels(set_name) or chosen.results.references(set_name)


def _values(chosen: Chosen, set_name: str) -> Values:
    parts = chosen.results.parts(set_name, chosen.condition)
    return mean_values([chosen.results.values(part) for part in parts])
