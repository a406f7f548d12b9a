"""OpenAI's API: every index with every strategy is a model, and the last message of the user is the question.

The messages before it are the history of a follow-up question.
"""

from __future__ import annotations

from contextlib import aclosing
from datetime import datetime
from difflib import get_close_matches
from urllib.parse import urlencode

from starlette.requests import Request

from shrag.messages.text import Text
from shrag.serving.api.chat_completions.client_tasks import task_reply
from shrag.serving.api.chat_completions.response import ChatCompletion, plain_completion, stream_plain
from shrag.serving.api.chat_completions.schemas import (
    ChatRequest,
    ChatResponse,
    ModelEntry,
    ModelList,
    ModelsQuery,
    ShragFields,
    check_text_only,
    message_text,
)
from shrag.serving.api.schemas import AskRequest, EarlierTurn
from shrag.serving.api.service import Service
from shrag.serving.http.endpoint import Operation
from shrag.serving.http.logging import request_id
from shrag.serving.http.problems import HTTPProblem
from shrag.serving.http.sse import SSEResponse
from shrag.serving.request import DEFAULT_STRATEGY

_LONGEST_NAME = 100
_MOST_NAMES = 3


@Operation(query=ModelsQuery, returns=ModelList, tag="openai")
async def models(request: Request, query: ModelsQuery) -> ModelList:
    """Return the models: each index with the default strategy; with ``all`` each that it can be asked by, a model each.

    Any of them answers under its name, whether listed or not.
    """
    entries = _models(request.app.state.service)
    default = tuple(entry for entry in entries if entry.id.partition("/")[2] == DEFAULT_STRATEGY)
    return ModelList(entries if query.all else default)


@Operation(returns=ModelEntry, problems=(404,), tag="openai")
async def model(request: Request) -> ModelEntry:
    """Return one of the models."""
    return _find_model(request.app.state.service, request.path_params["model"])


@Operation(
    body=ChatRequest, strict=False, returns=ChatResponse, events=(), problems=(404, 409, 413, 415, 503), tag="openai"
)
async def chat(request: Request, body: ChatRequest) -> ChatResponse | SSEResponse:
    """Answer the last message of the user from the records found; with ``stream``, as it happens."""
    service: Service = request.app.state.service
    index, _, strategy = _find_model(service, body.model).id.partition("/")
    deadline = service.deadline(request.is_disconnected)
    turns = _turns(body)
    reply = task_reply(turns[-1].question)
    if reply is not None:
        return _reply_to_task(reply, body)
    question = AskRequest(question=turns[-1].question, strategy=strategy, history=turns[:-1], index=index)
    parsed, feed = await service.events(question, deadline)
    fields = ShragFields(index, feed.generation, strategy, feed.cached, request_id(), ())
    language = parsed.question.language
    completion = ChatCompletion(body.model, language, fields, lambda docid: _record_url(request, docid, index))
    if body.stream:
        usage = body.stream_options is not None and body.stream_options.include_usage
        streamed = feed.events(deadline.without_disconnect(), service.observe)
        return SSEResponse(completion.stream(streamed, include_usage=usage), feed.leave)
    events = feed.events(deadline, service.observe)
    try:
        async with aclosing(events):
            return await completion.complete(events)
    finally:
        feed.leave()


def _models(service: Service) -> tuple[ModelEntry, ...]:
    entries: list[ModelEntry] = []
    for source in service.sources:
        with source.use() as engine:
            created = int(datetime.fromisoformat(engine.manifest.created).timestamp())
            entries += [ModelEntry(f"{engine.name}/{strategy}", created) for strategy in engine.strategies]
    return tuple(entries)


def _find_model(service: Service, name: str) -> ModelEntry:
    entries = _models(service)
    for entry in entries:
        if entry.id == name:
            return entry
    raise HTTPProblem(
        404,
        "model_not_found",
        Text(
            "There is no model {name!r}: models are named INDEX/STRATEGY, such as {names}; GET /v1/models?all=true "
            "lists all.",
            name=name[:_LONGEST_NAME],
            names=", ".join(_nearest_models(name[:_LONGEST_NAME], [entry.id for entry in entries])),
        ),
    )


def _nearest_models(name: str, names: list[str]) -> list[str]:
    """Return the models that ``name`` may mean.

    For the name of an index, they are its models; else the most similar names; else the models of the default strategy.
    """
    index, slash, _ = name.partition("/")
    own = [each for each in names if each.startswith(f"{index}/")]
    if own and not slash:
        return own[:_MOST_NAMES]
    default = [each for each in own or names if each.partition("/")[2] == DEFAULT_STRATEGY]
    return get_close_matches(name, own or names, _MOST_NAMES) or default[:_MOST_NAMES]


def _turns(body: ChatRequest) -> list[EarlierTurn]:
    """Return the user's messages, each with the assistant's message after it. The last one is the question.

    Only the question must be all text: a client sends each message of a conversation again, with those that are not
    read and with pictures that an earlier model was shown.
    """
    if body.n is not None and body.n != 1:
        raise HTTPProblem(
            400, "one_answer_only", Text("n is {n}, but a question has one answer: leave it out.", n=body.n)
        )
    turns: list[EarlierTurn] = []
    asked = 0
    for position, message in enumerate(body.messages):
        if message.role == "user":
            turns.append(EarlierTurn(message_text(message)))
            asked = position
        elif message.role == "assistant" and turns:
            turns[-1] = EarlierTurn(turns[-1].question, message_text(message))
    if not turns:
        raise HTTPProblem(
            400, "no_user_message", Text("No message is of the user: the last one of them is the question.")
        )
    try:
        check_text_only(body.messages[asked])
    except ValueError as error:
        raise HTTPProblem(
            400, "text_only", Text("messages.{position}: {error}.", position=asked, error=error)
        ) from None
    return turns


def _reply_to_task(reply: str, body: ChatRequest) -> ChatResponse | SSEResponse:
    """Return the reply to a task of the client. Nothing is searched for it."""
    completion = plain_completion(body.model, reply)
    return SSEResponse(stream_plain(completion), lambda: None) if body.stream else completion


def _record_url(request: Request, docid: str, index: str) -> str:
    service: Service = request.app.state.service
    named = {"index": index} if index != service.names[0] else {}
    by_tls = request.headers.get("x-forwarded-proto") == "https"  # of the proxy before the server
    base = request.base_url.replace(scheme="https") if by_tls else request.base_url
    return f"{base}record?{urlencode({'docid': docid} | named)}"
