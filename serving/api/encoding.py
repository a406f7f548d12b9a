"""Responses of the /v1 API, from results to JSON bytes.

The JSON of a cached answer is joined from two parts: the bytes cached beside the answer, and the last fields of
:class:`~shrag.serving.api.schemas.SearchResponse`, which are of this request alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from shrag.serving.answer_cache import CachedAnswer
from shrag.serving.answering.formats import REASONS, AnswerFormat, answer_label, answer_text
from shrag.serving.api.schemas import AnswerBody, AskResponse, SearchResponse
from shrag.serving.events import ModelCall
from shrag.serving.http.logging import request_id
from shrag.serving.results import AskResult, SearchResult, cached_ask, cached_search


def encode_search(result: SearchResult) -> bytes:
    """Return the body of ``/v1/search``."""
    return msgspec.json.encode(_search_response(result))


def encode_ask(result: AskResult, form: AnswerFormat) -> bytes:
    """Return the body of ``/v1/ask``."""
    return msgspec.json.encode(_ask_response(result, form))


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


def _search_response(result: SearchResult) -> SearchResponse:
    """Return the body of ``/v1/search``."""
    reason = result.ranking.reason
    return SearchResponse(
        question=result.question.text,
        language=result.question.language,
        index=result.index,
        index_generation=result.generation,
        strategy=result.strategy,
        reason=reason,
        message=REASONS[result.question.language][reason] if reason else "",
        keywords=result.keywords.keywords,
        unknown_words=result.keywords.unknown,
        queries=result.queries.queries,
        candidates=result.hits.candidates,
        incomplete=result.hits.incomplete,
        dense=result.hits.dense,
        encoder=result.hits.encoder,
        encoder_is_model=result.hits.encoder_is_model,
        reranker=result.ranking.reranker,
        reranker_is_model=result.ranking.reranker_is_model,
        records=result.ranking.records,
        keyword_order=result.keywords.order,
        keyword_model=result.keywords.model,
        fallbacks=result.fallbacks,
        nodes=result.nodes,
        truncated=result.truncated,
        model_calls=result.model_calls,
        seconds=result.timings.seconds,
        cached=result.timings.cached,
        request_id=request_id(),
    )


def _ask_response(result: AskResult, form: AnswerFormat) -> AskResponse:
    """Return the body of ``/v1/ask``."""
    search, answer = _search_response(result.search), result.answer
    body = AnswerBody(
        kind=answer.kind,
        label=answer_label(answer),
        model=answer.model,
        complete=answer.complete,
        citation_precision=answer.citation_precision,
        language=answer.language,
        reason=answer.reason,
        text=answer_text(answer, form),
        sections=answer.sections,
        citations=answer.citations,
        choice=answer.choice,
    )
    return AskResponse(body, search, search.request_id)
