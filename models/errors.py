"""What goes wrong with models. Each message names the value, the rule and the way out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shrag.models.language_model import Completion


class ModelError(Exception):
    """Base of every error of this room."""


class WeightsMissing(ModelError):
    """A folder of weights is not where it was looked for, or lacks a file."""


class WeightsRejected(ModelError):
    """Weights are there and are not what they should be: another hash, a cut file, an encoder that returns nonsense."""


class ModelUnavailable(ModelError):
    """A model's endpoint does not answer: not there, starting, dead, too slow, or too busy. Trying later may help."""


class ModelRefused(ModelError):
    """A model's endpoint answered that it will not: too long a prompt, an unknown name. Trying again will not help."""


class InvalidOutput(ModelError):
    """What a model wrote is not what it was asked for, and neither was its second try: ``completions``."""

    def __init__(self, message: str, completions: Sequence[Completion] = ()) -> None:
        super().__init__(message)
        self.completions = tuple(completions)


class EngineMissing(ModelError):
    """The program that is to serve a model is not where the settings say."""


class UnknownArchitecture(ModelError):
    """A model's configuration describes layers whose cache is not known here; it is not guessed."""


class UnknownName(ModelError):
    """There is no card and no profile of this name."""


class GpuMissing(ModelError):
    """No GPU can be asked for its memory here."""


class BudgetTooSmall(ModelError):
    """A plan does not fit its card or its budget. The sentence names the smallest change that fits."""


class PlanRejected(ModelError):
    """A plan was asked for that no budget makes possible."""


class PackageMissing(ModelError):
    """A package that models need is not installed."""


class OutOfMemory(ModelError):
    """A model, or one text for it, does not fit into the memory of the machine or its GPU."""
