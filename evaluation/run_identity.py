"""What decides the numbers of an experiment, found out before its first question is asked."""

from __future__ import annotations

from collections.abc import Mapping

from shrag.evaluation.condition_engine import ModelChoice, OpenIndexes
from shrag.evaluation.experiment import Condition, Experiment, JudgedSet
from shrag.evaluation.judged_questions import JudgedQuestions
from shrag.evaluation.provenance import code_digest, package_versions
from shrag.evaluation.run_card import FORMAT_VERSION, Identity, ModelIdentity, index_identity, questions_identity
from shrag.evaluation.set_index import index_name
from shrag.prompts.prompt import prompts_fingerprint


def identify(
    experiment: Experiment,
    questions: Mapping[str, JudgedQuestions],
    indexes: OpenIndexes,
    model: ModelChoice | None,
) -> Identity:
    """Return the identity of the experiment's results; opens and checks every index that is asked."""
    chance = tuple(each.name for each in experiment.conditions if uses_model(each, model))
    names = sorted({index_name(judged_set, encoder) for judged_set, encoder in indexes_of(experiment)})
    return Identity(
        format_version=FORMAT_VERSION,
        experiment=experiment,
        chance=chance,
        questions={name: questions_identity(each) for name, each in questions.items()},
        indexes={name: index_identity(indexes[name].manifest) for name in names},
        prompts=prompts_fingerprint(),
        model=ModelIdentity(model.name, model.fingerprint) if model and chance else ModelIdentity(),
        code=code_digest(),
        versions=package_versions(),
    )


def indexes_of(experiment: Experiment) -> list[tuple[JudgedSet, str]]:
    """Return each set with each encoder that a condition asks of it, once, in order."""
    pairs = [(each, condition.encoder) for each in experiment.sets for condition in experiment.conditions]
    return [pair for place, pair in enumerate(pairs) if pair not in pairs[:place]]


def uses_model(condition: Condition, model: ModelChoice | None) -> bool:
    """Say whether the condition asks a language model, which is all the chance there is in one."""
    return model is not None and condition.model is not False and not condition.peer


def repeat_seed(seed: int, repeat: int) -> int:
    """Return the seed of a repeat: the experiment's own for the only or the first, the next ones for the others."""
    return seed + max(repeat - 1, 0)
