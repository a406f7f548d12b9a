"""The errors of :mod:`shrag.models`; each message names the value, the rule and the remedy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shrag.models.language_model import Completion


class ModelError(Exception):
    """The base class of the errors of this package."""


class WeightsMissing(ModelError):
    """A weights folder, or a file in it, does not exist."""


class WeightsRejected(ModelError):
    """Weights are not as expected: another hash, a truncated file, or wrong vectors."""


class ModelUnavailable(ModelError):
    """A model's endpoint is down, starting, too slow or too busy; a later request may succeed."""


class ModelRefused(ModelError):
    """A model's endpoint rejects the request, as for a prompt that is too long; repeating it would fail again."""


class InvalidOutput(ModelError):
    """A model's output and its repaired output do not match the JSON schema; ``completions`` holds both."""

    def __init__(self, message: str, completions: Sequence[Completion] = ()) -> None:
        super().__init__(message)
        self.completions = tuple(completions)


class ServerProgramMissing(ModelError):
    """The model server's program does not exist or is not executable."""


class UnknownArchitecture(ModelError):
    """The KV cache of a model's layers cannot be computed from its configuration."""


class UnknownName(ModelError):
    """There is no GPU card or model profile of this name."""


class GpuMissing(ModelError):
    """The memory of a GPU cannot be read here."""


class BudgetTooSmall(ModelError):
    """A memory plan does not fit its card or budget; the message names the smallest change that fits."""


class PlanRejected(ModelError):
    """A memory plan is impossible with any budget."""


class PackageMissing(ModelError):
    """A Python package that models need is not installed."""


class OutOfMemory(ModelError):
    """A model, or one text for it, does not fit into memory."""
