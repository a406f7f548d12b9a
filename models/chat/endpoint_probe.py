"""Probe an endpoint for its models, context length and version, and classify its error responses."""

from __future__ import annotations

import re

import msgspec

from shrag.messages.text import Text
from shrag.models.chat.endpoint import EndpointHealth
from shrag.models.chat.http_client import EndpointClient
from shrag.models.errors import ModelError, ModelRefused, ModelUnavailable

_SECONDS = 5.0


class _Model(msgspec.Struct, frozen=True):
    id: str
    max_model_len: int | None = None


class _Models(msgspec.Struct, frozen=True):
    data: list[_Model]


class _Version(msgspec.Struct, frozen=True):
    version: str


_decode_models = msgspec.json.Decoder(_Models).decode
_decode_version = msgspec.json.Decoder(_Version).decode


def probe(client: EndpointClient, model: str = "", seconds: float = _SECONDS) -> EndpointHealth:
    """Request the endpoint's models and version, each within ``seconds``.

    An empty ``model`` stands for the only model that the endpoint serves. Raises :class:`ModelUnavailable` if nothing
    answers, or the server is starting or too busy. Raises :class:`ModelRefused` if the endpoint has no such model,
    rejects the key, or is not OpenAI-compatible.
    """
    where = client.address.given
    status, body = client.fetch(f"{client.address.prefix}/models", seconds)
    if status in {401, 403}:
        raise ModelRefused(
            Text(
                "{where} refuses the key ({status}): give the right one as SHRAG_LLM_API_KEY.",
                where=where,
                status=status,
            )
        )
    if status == 429:
        raise error_for_status(where, model, status, to_one_line(body.decode(errors="replace")) or "/models")
    if status >= 500:
        raise ModelUnavailable(
            Text(
                "{where} answers {status}: the server, or a proxy in front of it, is still starting; try again later.",
                where=where,
                status=status,
            )
        )
    try:
        served = _decode_models(body).data if status == 200 else None
    except msgspec.MsgspecError:
        served = None
    if served is None:
        raise ModelRefused(
            Text(
                "{where} is not an OpenAI-compatible endpoint (/models: {status}): check the address.",
                where=where,
                status=status,
            )
        )
    names = tuple(one.id for one in served)
    wanted = model or (names[0] if len(names) == 1 else "")
    if wanted not in names:
        raise ModelRefused(_unknown_model_message(where, model, names))
    length = next(one.max_model_len for one in served if one.id == wanted)
    return EndpointHealth(names, wanted, length, vllm_version(client, seconds))


def vllm_version(client: EndpointClient, seconds: float = _SECONDS) -> str:
    """Return a text such as ``vLLM 0.32.0`` for vLLM, or an empty text; raises :class:`ModelUnavailable`."""
    status, body = client.fetch("/version", seconds)
    try:
        return f"vLLM {_decode_version(body).version}" if status == 200 else ""
    except msgspec.MsgspecError:
        return ""


def _unknown_model_message(where: str, model: str, names: tuple[str, ...]) -> Text:
    serves = ", ".join(names[:8]) or Text("nothing")
    if not model:
        return Text("{where} serves {serves}: choose one with SHRAG_LLM_MODEL.", where=where, serves=serves)
    return Text("{where} has no model {model!r}: it serves {serves}.", where=where, model=model, serves=serves)


RETRY_STATUSES = frozenset({429, 502, 503})
"""The statuses of a server that is busy or not ready; after these a request is retried."""

_TOO_LONG = re.compile(
    r"context.{0,3}length|max_model_len|maximum model length|exceed.{0,20}context"
    r"|(prompt|input).{0,40}too (long|large)",
    re.IGNORECASE,
)
_MAX_SHOWN = 300


def error_for_status(where: str, model: str, status: int, message: str) -> ModelError:
    """Return the error for a response with this ``status`` and ``message``."""
    quoted = to_one_line(message)
    if status >= 500:
        return ModelUnavailable(
            Text("{where} answers {status} ({quoted}): see its log.", where=where, status=status, quoted=quoted)
        )
    if status == 429:
        return ModelUnavailable(Text("{where} is too busy ({quoted}): try later.", where=where, quoted=quoted))
    if status in {401, 403}:
        return ModelRefused(
            Text(
                "{where} refuses the key ({status}): give the right one as SHRAG_LLM_API_KEY.",
                where=where,
                status=status,
            )
        )
    return ModelRefused(_rejection_message(where, model, status, message, quoted))


def _rejection_message(where: str, model: str, status: int, message: str, quoted: str) -> Text:
    if status == 404:
        return Text(
            "{where} knows no model {model!r} ({quoted}): give a name it serves as SHRAG_LLM_MODEL, or correct the "
            "path of its address.",
            where=where,
            model=model,
            quoted=quoted,
        )
    if status >= 400 and _TOO_LONG.search(message):
        return Text(
            "The prompt and its answer are longer than the context of {model!r} ({quoted}): ask for a shorter answer, "
            "show fewer records, or serve the model with a longer context.",
            model=model,
            quoted=quoted,
        )
    if status < 400:
        return Text(
            "{where} redirects elsewhere ({status}), which is not followed: give its final address.",
            where=where,
            status=status,
        )
    return Text("{where} refuses the request ({status}: {quoted}).", where=where, status=status, quoted=quoted)


def to_one_line(text: str) -> str:
    """Return a text as one line without control characters, cut to 300 characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _MAX_SHOWN else line[: _MAX_SHOWN - 1] + "…"
