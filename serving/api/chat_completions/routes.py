"""OpenAI-compatible /v1/models and /v1/chat/completions."""

from __future__ import annotations

from contextlib import aclosing
from datetime import datetime
from urllib.parse import urlencode

import msgspec
from fastapi import FastAPI, Request, Response

from shrag.serving.api.chat_completions.response import ChatAnswer
from shrag.serving.api.chat_completions.schemas import (
    ChatRequest,
    ChatResponse,
    ModelEntry,
    ModelList,
    ShragFields,
    message_text,
)
from shrag.serving.api.openapi import openai_problems, stream_of
from shrag.serving.api.schemas import AskRequest
from shrag.serving.api.service import Service
from shrag.serving.http.logging import trace_id
from shrag.serving.http.problems import Refusal
from shrag.serving.http.sse import EventStream

_STREAM = stream_of("The answer, or its chunks.")


def add_openai_routes(app: FastAPI, service: Service) -> None:
    """Add the routes that OpenAI's clients ask."""

    @app.get("/v1/models", response_model=ModelList, responses=openai_problems(), tags=["openai"])
    async def models() -> Response:
        """Return one model for each way to be answered."""
        return _json(ModelList(_models(service)))

    @app.get("/v1/models/{model:path}", response_model=ModelEntry, responses=openai_problems(404), tags=["openai"])
    async def model(model: str) -> Response:
        """Return one of the models."""
        return _json(_find(service, model))

    @app.post(
        "/v1/chat/completions",
        response_model=ChatResponse,
        responses=openai_problems(404, 409, 413, 415, 429, 503) | _STREAM,
        tags=["openai"],
    )
    async def chat(body: ChatRequest, request: Request) -> Response:
        """Answer the last message of the user from the records found; with ``stream``, as it happens."""
        strategy = _find(service, body.model).id.partition("/")[2]
        deadline = service.deadline(request.is_disconnected)
        asked, feed = await service.events(AskRequest(question=_question(body), strategy=strategy), deadline)
        about = ShragFields(service.index.name, feed.generation, strategy, feed.cached, trace_id(), ())
        answer = ChatAnswer(body.model, asked.question.language, about, lambda docid: _url(request, docid))
        if body.stream:
            usage = body.stream_options is not None and body.stream_options.include_usage
            streamed = feed.events(deadline.without_disconnect(), service.observe)
            return EventStream(answer.stream(streamed, include_usage=usage), feed.leave)
        events = feed.events(deadline, service.observe)
        try:
            async with aclosing(events):
                return _json(await answer.whole(events))
        finally:
            feed.leave()


def _models(service: Service) -> tuple[ModelEntry, ...]:
    with service.index.use() as engine:
        created = int(datetime.fromisoformat(engine.manifest.created).timestamp())
        return tuple(ModelEntry(f"{engine.name}/{strategy}", created) for strategy in engine.strategies)


def _find(service: Service, name: str) -> ModelEntry:
    models = _models(service)
    for entry in models:
        if entry.id == name:
            return entry
    there = ", ".join(entry.id for entry in models)
    raise Refusal(404, "model_not_found", f"There is no model {name[:100]!r}: use one of {there}.")


def _question(body: ChatRequest) -> str:
    """Return the text of the user's last message."""
    if body.n is not None and body.n != 1:
        raise Refusal(400, "one_answer_only", f"n is {body.n}, and there is one answer to a question: leave it out.")
    texts = []
    for place, message in enumerate(body.messages):
        try:
            text = message_text(message)
        except ValueError as error:
            raise Refusal(400, "text_only", f"messages.{place}: {error}.") from None
        if message.role == "user":
            texts.append(text)
    if not texts:
        raise Refusal(400, "no_user_message", "No message is of the user: the last one of them is the question.")
    return texts[-1]


def _url(request: Request, docid: str) -> str:
    return f"{request.base_url}v1/documents?{urlencode({'docid': docid})}"


def _json(value: object) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")
