"""Encode results as JSON bytes.

New are the fields of this request alone, which a response has last (:class:`SearchResponse`); all before them is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from shrag.serving.answer_cache import KeptAnswer
from shrag.serving.answering.formats import AnswerFormat
from shrag.serving.api.schemas import ask_response, search_response
from shrag.serving.events import ModelCall
from shrag.serving.http.logging import trace_id
from shrag.serving.results import AskResult, SearchResult, kept_ask, kept_search


def encode_search(result: SearchResult) -> bytes:
    """Return the body of ``/v1/search``."""
    return msgspec.json.encode(search_response(result))


def encode_ask(result: AskResult, form: AnswerFormat) -> bytes:
    """Return the body of ``/v1/ask``."""
    return msgspec.json.encode(ask_response(result, form))


def encode_kept_search(kept: KeptAnswer) -> bytes:
    """Return the same as :func:`encode_search` of a kept answer."""
    end = _search_end(kept)
    begin = kept.encoded("search")
    if begin is None:
        begin = encode_search(kept_search(kept)).removesuffix(end)
        kept.keep_encoded("search", begin)
    return begin + end


def encode_kept_ask(kept: KeptAnswer, form: AnswerFormat) -> bytes:
    """Return the same as :func:`encode_ask` of a kept answer."""
    end = _search_end(kept) + b',"trace_id":' + msgspec.json.encode(trace_id()) + b"}"
    begin = kept.encoded(form)
    if begin is None:
        begin = encode_ask(kept_ask(kept), form).removesuffix(end)
        kept.keep_encoded(form, begin)
    return begin + end


@dataclass(frozen=True, slots=True)
class _OfThisRequest:
    """The last fields of a response, in their order."""

    model_calls: tuple[ModelCall, ...]
    seconds: dict[str, float]
    cached: bool
    trace_id: str


def _search_end(kept: KeptAnswer) -> bytes:
    """Return a response from its first field of this request on."""
    return msgspec.json.encode(_OfThisRequest((), kept.timings.seconds, kept.timings.cached, trace_id()))[1:]
