"""Asking an endpoint what it is: whether it answers, what it serves, how long a context it has."""

from __future__ import annotations

import msgspec

from shrag.models.endpoint import EndpointHealth
from shrag.models.endpoint_client import EndpointClient
from shrag.models.errors import ModelRefused, ModelUnavailable

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
