"""Bypass of FastAPI for common requests (delete once routes are Starlette + msgspec).

FastAPI takes several times as long to read such a request and to send its answer as a kept answer takes to be found.
Whatever is not read here to the letter goes to FastAPI as it came, which then accepts or refuses it: one place decides
what a request may be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shrag.serving.answering.formats import AnswerFormat
from shrag.serving.api.schemas import AskRequest, QuestionRequest
from shrag.serving.events import KeywordOrder
from shrag.serving.http.problems import HANDLED, refusal
from shrag.serving.request import DEFAULT_K, DEFAULT_STRATEGY, LARGEST_K

_Asked = TypeVar("_Asked")

_JSON = b"application/json"


class _Search(msgspec.Struct, forbid_unknown_fields=True):
    """What :class:`QuestionRequest` accepts, and of that nothing that it reads otherwise."""

    question: str
    k: Annotated[int, msgspec.Meta(ge=1, le=LARGEST_K)] = DEFAULT_K
    strategy: str = DEFAULT_STRATEGY
    keyword_order: KeywordOrder = "tfidf"
    choices: list[str] = []


class _Ask(_Search, forbid_unknown_fields=True):
    """What :class:`AskRequest` accepts, likewise."""

    format: AnswerFormat = "cited"
    stream: bool = False


_SEARCHES, _ASKS = msgspec.json.Decoder(_Search), msgspec.json.Decoder(_Ask)


def read_search(body: bytes) -> QuestionRequest | None:
    """Return the request to ``/v1/search`` that ``body`` is, None for what is left to FastAPI."""
    try:
        read = _SEARCHES.decode(body)
    except ValueError:
        return None
    return QuestionRequest.model_construct(
        question=read.question, k=read.k, strategy=read.strategy, keyword_order=read.keyword_order, choices=read.choices
    )


def read_ask(body: bytes) -> AskRequest | None:
    """Return likewise a request to ``/v1/ask``; a stream is left to FastAPI."""
    try:
        read = _ASKS.decode(body)
    except ValueError:
        return None
    if read.stream:
        return None
    return AskRequest.model_construct(
        question=read.question, k=read.k, strategy=read.strategy, keyword_order=read.keyword_order,
        choices=read.choices, format=read.format, stream=False,
    )  # fmt: skip


class PlainRoute(Generic[_Asked]):
    """Sends what ``answer`` makes of what ``read`` reads of the JSON body of a POST to ``path``."""

    def __init__(
        self, path: str, read: Callable[[bytes], _Asked | None], answer: Callable[[_Asked, Request], Awaitable[bytes]]
    ) -> None:
        self.path = path
        self._read = read
        self._answer = answer

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> list[Message]:
        """Serve the request, or return what was received of one that is left to FastAPI. Raises as ``answer`` does."""
        received: list[Message] = []
        while not received or (received[-1]["type"] == "http.request" and received[-1].get("more_body", False)):
            received.append(await receive())
        asked = None
        if received[-1]["type"] == "http.request":
            asked = self._read(b"".join(message.get("body", b"") for message in received))
        if asked is None:
            return received
        scope["route"] = self  # as a router says which it was
        client = _Client(scope, receive)
        try:
            answer = await self._answer(asked, client)
        finally:
            client.watch_no_longer()
        headers = [(b"content-length", b"%d" % len(answer)), (b"content-type", _JSON)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})
        return []


class PlainRoutes:
    """ASGI middleware. Serves ``routes`` before the router, which takes longer to find one than they take to answer.

    An error that a route raises is answered as behind the router.
    """

    def __init__(self, app: ASGIApp, routes: Iterable[PlainRoute[Any]]) -> None:
        self._app = app
        self._routes = {route.path: route for route in routes}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request."""
        route = self._routes.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if route is None or not _is_json(scope):
            await self._app(scope, receive, send)
            return
        try:
            received = await route.serve(scope, receive, send)
        except HANDLED as error:
            await refusal(scope["path"], error)(scope, receive, send)
            return
        if received:
            await self._app(scope, _again(received, receive), send)


class _Client(Request):
    """A request whose body was read. Whether the client has left is asked once and heard when it has.

    Starlette asks anew each time, which costs much under load, where many wait and ask.
    """

    _leaving: asyncio.Future[Message] | None = None

    async def is_disconnected(self) -> bool:
        """See Starlette."""
        if self._leaving is None:
            self._leaving = asyncio.ensure_future(self.receive())
            await asyncio.sleep(0)
        return self._leaving.done()

    def watch_no_longer(self) -> None:
        """Stop listening for it."""
        if self._leaving is not None:
            self._leaving.cancel()


def _is_json(scope: Scope) -> bool:
    """Say whether the body is said once to be JSON, by the plain name of it."""
    return [value for name, value in scope["headers"] if name == b"content-type"] == [_JSON]


def _again(received: list[Message], receive: Receive) -> Receive:
    """Return ``receive`` as it was before ``received`` was."""
    waiting = iter(received)

    async def again() -> Message:
        message = next(waiting, None)
        return message if message is not None else await receive()

    return again
