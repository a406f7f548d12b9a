"""Tests of choosing the language model of an experiment's condition, and of the message where there is none."""

from __future__ import annotations

from contextlib import nullcontext

import msgspec
import pytest

from shrag.evaluation.errors import ExperimentRejected
from shrag.evaluation.experiments.language_models import LanguageModels, ModelChoice
from shrag.evaluation.experiments.spec import Condition
from tests.support.scripted_models import ScriptedModel
from tests.support.small_experiment import SMALL


def _choice(name: str) -> ModelChoice:
    return ModelChoice(name, name, lambda seed: nullcontext(ScriptedModel()))


LARGE, FLASH = _choice("large"), _choice("flash")
MAY, NEEDS, NEVER = Condition("may"), Condition("needs", model=True), Condition("never", model=False)
NAMED, PEER = Condition("named", model="flash"), Condition("peer", peer="bm25s")


@pytest.mark.parametrize(
    ("condition", "model"), [(MAY, LARGE), (NEEDS, LARGE), (NEVER, None), (NAMED, FLASH), (PEER, None)]
)
def test_a_condition_has_the_configured_model_the_one_it_names_or_none(
    condition: Condition, model: ModelChoice | None
) -> None:
    models = LanguageModels(LARGE, {"flash": FLASH})
    assert models.of(condition) is model
    assert models.missing(condition) == ""
    models.check(msgspec.structs.replace(SMALL, conditions=(condition,)))


@pytest.mark.parametrize(
    ("condition", "models", "why", "way_out"),
    [
        (NEEDS, LanguageModels(), "no language model is configured", "set [llm] url in shrag.toml or SHRAG_LLM_URL"),
        (
            NAMED,
            LanguageModels(LARGE),
            "the language model flash has no address",
            "give --model flash=URL, or its url in [[models]]",
        ),
        (NEEDS, LanguageModels(ignored=True), "--no-model is given", "leave out --no-model"),
        (NAMED, LanguageModels(ignored=True), "--no-model is given", "leave out --no-model"),
    ],
)
def test_a_condition_that_lacks_its_model_is_named_with_the_reason_and_the_way_out(
    condition: Condition, models: LanguageModels, why: str, way_out: str
) -> None:
    assert (models.of(condition), models.missing(condition)) == (None, why)
    with pytest.raises(ExperimentRejected) as raised:
        models.check(msgspec.structs.replace(SMALL, conditions=(MAY, condition)))
    assert str(raised.value) == (
        f"The condition {condition.name} needs a language model, and {why}: {way_out}; or leave the condition out with "
        "--conditions."
    )
    for other in (MAY, NEVER, PEER):
        assert (models.missing(other), models.of(NEVER), models.of(PEER)) == ("", None, None)
