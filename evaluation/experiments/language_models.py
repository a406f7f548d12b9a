"""The language models of an experiment: the configured one, and those that its conditions name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from shrag.evaluation.errors import ExperimentRejected
from shrag.evaluation.experiments.spec import Condition, Experiment
from shrag.messages.text import Text
from shrag.models.language_model import LanguageModel


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A language model for an experiment.

    ``fingerprint`` identifies the model and its settings in the run card. ``open`` takes a seed and returns a client
    that samples by it.
    """

    name: str
    fingerprint: str
    open: Callable[[int], AbstractContextManager[LanguageModel]]


@dataclass(frozen=True, slots=True)
class LanguageModels:
    """The configured language model, if there is one, and those of an experiment's ``models`` by name.

    There is neither if they are ``ignored`` (``--no-model``).
    """

    configured: ModelChoice | None = None
    named: Mapping[str, ModelChoice] = field(default_factory=dict)
    ignored: bool = False

    def of(self, condition: Condition) -> ModelChoice | None:
        """Return the language model of a condition; None if it uses none, or if its model is missing."""
        if condition.peer or condition.model is False:
            return None
        return self.named.get(condition.model) if isinstance(condition.model, str) else self.configured

    def missing(self, condition: Condition) -> str:
        """Return why a condition lacks the language model that it needs; empty if it has one or needs none."""
        if not condition.model or self.of(condition) is not None:
            return ""
        if self.ignored:
            return Text("--no-model is given")
        if isinstance(condition.model, str):
            return Text("the language model {name} has no address", name=condition.model)
        return Text("no language model is configured")

    def check(self, experiment: Experiment) -> None:
        """Raise :class:`ExperimentRejected` if a condition needs a language model that is missing."""
        for condition in experiment.conditions:
            if why := self.missing(condition):
                way_out = Text("set [llm] url in shrag.toml or SHRAG_LLM_URL")
                if self.ignored:
                    way_out = Text("leave out --no-model")
                elif isinstance(condition.model, str):
                    way_out = Text("give --model {name}=URL, or its url in [[models]]", name=condition.model)
                raise ExperimentRejected(
                    Text(
                        "The condition {name} needs a language model, and {why}: {way_out}; or leave the "
                        "condition out with --conditions.",
                        name=condition.name,
                        why=why,
                        way_out=way_out,
                    )
                )
