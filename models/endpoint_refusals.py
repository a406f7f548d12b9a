"""What an endpoint's error answer means: to be tried later, or not at all; told in one sentence."""

from __future__ import annotations

import re

from shrag.models.errors import ModelError, ModelRefused, ModelUnavailable

TRY_AGAIN = frozenset({429, 502, 503})
"""Statuses that ask for patience: too busy, or something before the model finds it not ready."""

_TOO_LONG = re.compile(
    r"context.{0,3}length|max_model_len|maximum model length|exceed.{0,20}context"
    r"|(prompt|input).{0,40}too (long|large)",
    re.IGNORECASE,
)
_SHOWN = 300


def explain(where: str, model: str, status: int, message: str) -> ModelError:
    """Return the error to raise for an answer of ``status`` that says ``message``."""
    says = shown(message)
    if status >= 500:
        return ModelUnavailable(f"{where} answers {status} ({says}): look into its log.")
    if status == 429:
        return ModelUnavailable(f"{where} is too busy ({says}): try later.")
    if status in {401, 403}:
        return ModelRefused(f"{where} refuses the key ({status}): give the right one as SHRAG_LLM_API_KEY.")
    return ModelRefused(_refused(where, model, status, message, says))


def _refused(where: str, model: str, status: int, message: str, says: str) -> str:
    if status == 404:
        return (
            f"{where} knows no model {model!r} ({says}): give a name it serves as SHRAG_LLM_MODEL, "
            "or its address with the path it answers under."
        )
    if status >= 400 and _TOO_LONG.search(message):
        return (
            f"The prompt and its answer are longer than the context of {model!r} ({says}): "
            "ask for a shorter answer, show fewer records, or serve the model with a longer context."
        )
    if status < 400:
        return f"{where} redirects elsewhere ({status}), which is not followed: give its final address."
    return f"{where} refuses the request ({status}: {says})."


def shown(text: str) -> str:
    """Return an endpoint's own words fit for one line: no control characters, at most 300 characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
