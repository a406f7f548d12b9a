"""Probe an endpoint: availability, served models, context length; classify its error responses."""

from __future__ import annotations

import re

import msgspec

from shrag.models.chat.endpoint import EndpointHealth
from shrag.models.chat.http_client import EndpointClient
from shrag.models.errors import ModelError, ModelRefused, ModelUnavailable

_SECONDS = 5.0


class _Model(msgspec.Struct):
    id: str
    max_model_len: int | None = None


class _Models(msgspec.Struct):
    data: list[_Model]


class _Version(msgspec.Struct):
    version: str


def probe(client: EndpointClient, model: str = "", seconds: float = _SECONDS) -> EndpointHealth:
    """Ask for the models and the version; ``model`` is the one wanted, empty for the only one there is.

    Raises :class:`ModelUnavailable` where nothing answers, :class:`ModelRefused` where what answers has no such model,
    wants another key, or is no endpoint.
    """
    where = client.address.given
    status, body = client.fetch(f"{client.address.prefix}/models", seconds)
    if status in {401, 403}:
        raise ModelRefused(f"{where} refuses the key ({status}): give the right one as SHRAG_LLM_API_KEY.")
    if status >= 500:
        raise ModelUnavailable(f"{where} answers {status}: it is starting, or something before it is.")
    try:
        served = msgspec.json.decode(body, type=_Models).data if status == 200 else None
    except msgspec.MsgspecError:
        served = None
    if served is None:
        raise ModelRefused(f"{where} is no OpenAI-compatible endpoint (/models: {status}): check the address.")
    names = tuple(one.id for one in served)
    wanted = model or (names[0] if len(names) == 1 else "")
    if wanted not in names:
        raise ModelRefused(_no_such_model(where, model, names))
    length = next(one.max_model_len for one in served if one.id == wanted)
    return EndpointHealth(names, wanted, length, vllm_version(client, seconds))


def vllm_version(client: EndpointClient, seconds: float = _SECONDS) -> str:
    """Return ``vLLM 0.32.0`` where the endpoint is vLLM, else an empty string. Raises :class:`ModelUnavailable`."""
    status, body = client.fetch("/version", seconds)
    try:
        return f"vLLM {msgspec.json.decode(body, type=_Version).version}" if status == 200 else ""
    except msgspec.MsgspecError:
        return ""


def _no_such_model(where: str, model: str, names: tuple[str, ...]) -> str:
    serves = ", ".join(names[:8]) or "nothing"
    if not model:
        return f"{where} serves {serves}: say which one as SHRAG_LLM_MODEL."
    return f"{where} has no model {model!r}: it serves {serves}."


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
