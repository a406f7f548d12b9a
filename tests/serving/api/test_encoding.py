"""The JSON of a kept answer: put together, it is what encoding it whole gives."""

from __future__ import annotations

import json

import pytest

from shrag.serving.answer_cache import AnswerCache, CachedAnswer
from shrag.serving.answering.formats import AnswerFormat
from shrag.serving.api.encoding import encode_ask, encode_cached_ask, encode_cached_search, encode_search
from shrag.serving.engine import Engine
from shrag.serving.http.logging import REQUEST_CONTEXT, RequestContext
from shrag.serving.request import parse_request
from shrag.serving.results import cached_ask, cached_search

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"
NOTHING = 'zzzz "qqqq" \\ }'


@pytest.fixture
def engine(demo: Engine) -> Engine:
    """Return an engine that keeps its answers."""
    return Engine(demo.open_index, cache=AnswerCache())


@pytest.mark.parametrize("question", [QUESTION, NOTHING])
def test_a_kept_search_is_the_search_with_this_requests_own_end(engine: Engine, question: str) -> None:
    REQUEST_CONTEXT.set(RequestContext("first"))
    fresh = json.loads(encode_search(engine.search(question)))
    for trace in ("second", 'third "}'):
        REQUEST_CONTEXT.set(RequestContext(trace))
        kept = engine.run(parse_request(question, answered=False))
        assert isinstance(kept, CachedAnswer)
        body = encode_cached_search(kept)
        assert body == encode_search(cached_search(kept))
        again = json.loads(body)
        assert (again.pop("cached"), again.pop("request_id")) == (True, trace)
        assert list(again.pop("seconds")) == ["cache"]
        assert again == {key: value for key, value in fresh.items() if key not in ("cached", "request_id", "seconds")}
    assert (fresh["cached"], fresh["request_id"], set(fresh["seconds"])) == (
        False, "first", {"keywords", "search", "ranking"},
    )  # fmt: skip


@pytest.mark.parametrize("question", [QUESTION, NOTHING])
def test_a_kept_answer_is_kept_in_each_form_it_is_asked_for(engine: Engine, question: str) -> None:
    engine.ask(question)
    forms: tuple[AnswerFormat, ...] = ("cited", "plain")
    for form in (*forms, *forms):
        kept = engine.run(parse_request(question, answered=True))
        assert isinstance(kept, CachedAnswer)
        assert encode_cached_ask(kept, form) == encode_ask(cached_ask(kept), form)


def test_what_is_kept_is_encoded_once(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    from shrag.serving.api import encoding

    engine.search(QUESTION)
    kept = engine.run(parse_request(QUESTION, answered=False))
    assert isinstance(kept, CachedAnswer)
    encode_cached_search(kept)

    def refuse(_: object) -> None:
        raise AssertionError("it is encoded again")

    monkeypatch.setattr(encoding, "encode_search", refuse)
    kept = engine.run(parse_request(QUESTION, answered=False))
    assert isinstance(kept, CachedAnswer)
    assert len(encode_cached_search(kept)) > 5_000
