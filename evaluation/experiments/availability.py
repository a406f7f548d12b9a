"""Leave out the parts of an experiment for which the user has not brought data, weights or a language model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from shrag.evaluation.errors import ExperimentRejected
from shrag.evaluation.experiments.judged_topics import resolve_data_path
from shrag.evaluation.experiments.language_models import LanguageModels
from shrag.evaluation.experiments.spec import Condition, Experiment, JudgedSet
from shrag.evaluation.experiments.spec_file import narrow_experiment
from shrag.indexing.storage.vector_card import LSA, canonical_encoder
from shrag.messages.text import Text, joined
from shrag.models.encoders.choice import find_encoder
from shrag.models.errors import WeightsMissing


def leave_out_missing(
    experiment: Experiment, data: Path, weights: Path, models: LanguageModels, log: Callable[[str], None]
) -> Experiment:
    """Return the experiment without the sets and conditions that have ``bring`` and whose files or model are missing.

    ``log`` is called with one line for each of them. The values that a paper prints for them remain. If the baseline is
    left out, the experiment has no baseline and no claims. Sets and conditions without ``bring`` always remain: if
    something that they need is missing, it stops the run later with a message of its own.

    Raises:
        ExperimentRejected: No set or no condition is left.
    """
    missing_sets = {each.name: why for each in experiment.sets if (why := _missing_file(each, data))}
    missing_conditions = {
        each.name: why for each in experiment.conditions if (why := _missing_model(each, weights, models))
    }
    for name, why in missing_sets.items():
        log(Text("the set {name} is left out: {why}", name=name, why=why))
    for name, why in missing_conditions.items():
        log(Text("the condition {name} is left out: {why}", name=name, why=why))
    sets = [each for each in experiment.sets if each.name not in missing_sets]
    conditions = [each for each in experiment.conditions if each.name not in missing_conditions]
    if not sets or not conditions:
        kind, missing = (Text("set"), missing_sets) if not sets else (Text("condition"), missing_conditions)
        raise ExperimentRejected(
            Text("The experiment has no {kind} left: {values}", kind=kind, values=joined(missing.values(), "; "))
        )
    if experiment.baseline in missing_conditions:
        # Conditions can be looked at without a baseline, but claims are about it.
        experiment = msgspec.structs.replace(experiment, baseline="", claims=())
    return narrow_experiment(
        experiment,
        [each.name for each in sets] if missing_sets else [],
        [each.name for each in conditions] if missing_conditions else [],
        None,
    )


def _missing_file(judged_set: JudgedSet, data: Path) -> str:
    """Return which file of a set with ``bring`` is missing and what to bring; empty if none is missing."""
    if not judged_set.bring:
        return ""
    files = [judged_set.topics, judged_set.qrels]
    if (references := judged_set.reference_source) is not None:
        files.append(references.path)
    if judged_set.subset is not None:
        files.append(judged_set.subset.path)
    if (unanswerable := judged_set.unanswerable_source) is not None:
        files += [unanswerable.topics, unanswerable.kinds]
    if judged_set.corpus is not None:
        files += judged_set.corpus.paths
    for given in filter(None, files):
        try:
            resolve_data_path(given, data)
        except ExperimentRejected:
            return Text("{file} is missing. It needs {bring}", file=given, bring=judged_set.bring)
    return ""


def _missing_model(condition: Condition, weights: Path, models: LanguageModels) -> str:
    """Return what a condition with ``bring`` lacks and what to bring; empty if it lacks nothing."""
    if not condition.bring:
        return ""
    if why := models.missing(condition):
        return Text("{why}. It needs {bring}", why=why, bring=condition.bring)
    if condition.encoder and canonical_encoder(condition.encoder) != LSA:
        try:
            find_encoder(condition.encoder, weights)
        except WeightsMissing:
            return Text(
                "there are no weights of {encoder}. It needs {bring}",
                encoder=condition.encoder,
                bring=condition.bring,
            )
    return ""
