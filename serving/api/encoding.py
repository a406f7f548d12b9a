"""Encode results as the JSON responses of the /v1 API.

The JSON of a cached answer has two parts. The first part is cached as bytes beside the answer. The second part is the
last fields of :class:`~shrag.serving.api.schemas.SearchResponse`, which belong to one request only.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from shrag.serving.answer_cache import CachedAnswer
from shrag.serving.answering.formats import AnswerFormat, answer_label, answer_text
from shrag.serving.api.schemas import AnswerBody, AskResponse, SearchResponse
from shrag.serving.http.logging import request_id
from shrag.serving.results import AskResult, SearchResult, cached_ask, cached_search


def encode_search(result: SearchResult) -> bytes:
    """Return the body of ``/v1/search``."""
    return msgspec.json.encode(_search_response(result))


def encode_ask(result: AskResult, form: AnswerFormat) -> bytes:
    """Return the body of ``/v1/ask``."""
    return msgspec.json.encode(_ask_response(result, form))


def encode_cached_search(cached: CachedAnswer) -> bytes:
    """Return the body of ``/v1/search`` for a cached answer."""
    return _encode_cached(cached, "search", _request_fields(cached), lambda: encode_search(cached_search(cached)))


def encode_cached_ask(cached: CachedAnswer, form: AnswerFormat) -> bytes:
    """Return the body of ``/v1/ask`` for a cached answer."""
    end = _request_fields(cached) + b',"request_id":' + msgspec.json.encode(request_id()) + b"}"
    return _encode_cached(cached, form, end, lambda: encode_ask(cached_ask(cached), form))


def _encode_cached(cached: CachedAnswer, form: str, end: bytes, encode: Callable[[], bytes]) -> bytes:
    begin = cached.encoded(form)
    if begin is None:
        begin = encode().removesuffix(end)
        cached.cache_encoding(form, begin)
    return begin + end


def _request_fields(cached: CachedAnswer) -> bytes:
    """Return the end of a search's JSON: the fields that belong to this request only."""
    timings = cached.timings
    fields = {"model_calls": (), "seconds": timings.seconds, "cached": timings.cached, "request_id": request_id()}
    return msgspec.json.encode(fields)[1:]


def _search_response(result: SearchResult) -> SearchResponse:
    """Return the body of ``/v1/search``."""
    return SearchResponse(
        question=result.question.text,
        language=result.question.language,
        index=result.index,
        index_generation=result.generation,
        strategy=result.strategy,
        reason=result.ranking.reason,
        message=result.message,
        keywords=result.keywords.keywords,
        unknown_words=result.keywords.unknown,
        excluded=result.keywords.excluded,
        queries=result.queries.queries,
        candidates=result.hits.candidates,
        incomplete=result.hits.incomplete,
        dense=result.hits.dense,
        encoder=result.hits.encoder,
        encoder_is_model=result.hits.encoder_is_model,
        reranker=result.ranking.reranker,
        reranker_is_model=result.ranking.reranker_is_model,
        records=result.ranking.records,
        confidence=result.ranking.confidence,
        filter=result.record_filter,
        facets=result.facets,
        keyword_order=result.keywords.order,
        keyword_model=result.keywords.model,
        fallbacks=result.fallbacks,
        nodes=result.nodes,
        truncated=result.truncated,
        follow_up=result.follow_up,
        authors=result.authors,
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
        nearest=answer.nearest,
        uncovered=answer.uncovered,
        quoted_language=answer.quoted_language,
        uncertain=answer.uncertain,
        listing=answer.listing,
        suggestion=answer.suggestion,
    )
    return AskResponse(body, search, search.request_id)
