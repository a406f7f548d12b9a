"""What is said where a language model failed and its stage is done without one."""

from __future__ import annotations

from shrag.models.errors import InvalidOutput, ModelError, ModelRefused
from shrag.serving.events import Fallback, Purpose


def fallen_back(stage: Purpose, error: ModelError) -> Fallback:
    """Return the event of doing ``stage`` without the model because of ``error``."""
    if isinstance(error, InvalidOutput):
        return Fallback(stage, "invalid_output", str(error))
    return Fallback(stage, "refused" if isinstance(error, ModelRefused) else "unavailable", str(error))
