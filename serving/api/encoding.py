"""Results as JSON bytes.

The JSON of a cached answer is joined from two parts: the bytes cached beside the answer, and the last fields of
:class:`~shrag.serving.api.schemas.SearchResponse`, which are of this request alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from shrag.serving.answer_cache import CachedAnswer
from shrag.serving.answering.formats import AnswerFormat
from shrag.serving.api.schemas import ask_response, search_response
from shrag.serving.events import ModelCall
from shrag.serving.http.request_context import request_id
from shrag.serving.results import AskResult, SearchResult, cached_ask, cached_search


def encode_search(result: SearchResult) -> bytes:
    """Return the body of ``/v1/search``."""
    return msgspec.json.encode(search_response(result))


def encode_ask(result: AskResult, form: AnswerFormat) -> bytes:
    """Return the body of ``/v1/ask``."""
    return msgspec.json.encode(ask_response(result, form))


def encode_cached_search(cached: CachedAnswer) -> bytes:
    """Return the same as :func:`encode_search` of a cached answer."""
    end = _search_end(cached)
    begin = cached.encoded("search")
    if begin is None:
        begin = encode_search(cached_search(cached)).removesuffix(end)
        cached.cache_encoding("search", begin)
    return begin + end


def encode_cached_ask(cached: CachedAnswer, form: AnswerFormat) -> bytes:
    """Return the same as :func:`encode_ask` of a cached answer."""
    end = _search_end(cached) + b',"request_id":' + msgspec.json.encode(request_id()) + b"}"
    begin = cached.encoded(form)
    if begin is None:
        begin = encode_ask(cached_ask(cached), form).removesuffix(end)
        cached.cache_encoding(form, begin)
    return begin + end


@dataclass(frozen=True, slots=True)
class _RequestFields:
    """The last fields of a response, in their order."""

    model_calls: tuple[ModelCall, ...]
    seconds: dict[str, float]
    cached: bool
    request_id: str


def _search_end(cached: CachedAnswer) -> bytes:
    """Return a response from its first field of this request on."""
    return msgspec.json.encode(_RequestFields((), cached.timings.seconds, cached.timings.cached, request_id()))[1:]
