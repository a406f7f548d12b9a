"""Language model behind an OpenAI-compatible endpoint.

The only file that imports ``openai``; itself imported only where a model is configured.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import openai

from shrag.models.chat.endpoint import EndpointHealth, Timeouts, read_address
from shrag.models.chat.endpoint_probe import TRY_AGAIN, explain, probe, shown, vllm_version
from shrag.models.chat.http_client import HTTP_ERRORS, EndpointClient, reason, shut
from shrag.models.chat.reasoning import without_thinking
from shrag.models.chat.settings import LlmSettings
from shrag.models.chat.stream import ChatAnswer, ChatChunk, ChatStream, Usage, broke_off, finished
from shrag.models.errors import ModelError, ModelUnavailable
from shrag.models.language_model import Completion, Message

_FIRST_PAUSE = 0.25
_LONGEST_PAUSE = 5.0

_Wire = TypeVar("_Wire")


class OpenAIModel:
    """Implements :class:`~shrag.models.language_model.LanguageModel` at ``settings.url``.

    Greedy and seeded, so that an endpoint which is deterministic answers alike. A request is repeated, with growing
    pauses, only where the connection failed or the endpoint said 429, 502 or 503, and only before its first piece.
    Raises ``ValueError`` for an address that is none. Close it to let go of its connections.
    """

    def __init__(self, settings: LlmSettings) -> None:
        self._settings = settings
        self._address = read_address(settings.url)
        timeouts = Timeouts(settings.connect_timeout, settings.read_timeout, settings.timeout)
        self._client = EndpointClient(self._address, timeouts, settings.api_key)
        # Every argument that would else come from the environment is given; what is sent, the client decides.
        self._openai = openai.OpenAI(
            api_key="unused",
            admin_api_key="",
            organization="",
            project="",
            webhook_secret="",
            base_url=self._address.base_url,
            max_retries=0,
            # It would take the client's own for "none given" where they happen to be the library's usual ones.
            timeout=self._client.timeout,
            http_client=self._client,
        )
        # Awaited whole and by everyone, searches too: however steadily it comes, it comes in time.
        seconds = min(settings.keyword_timeout, settings.timeout)
        short = EndpointClient(self._address, Timeouts(settings.connect_timeout, seconds, seconds), settings.api_key)
        self._short = self._openai.copy(http_client=short, timeout=short.timeout)
        self._model = settings.model
        self._is_vllm: bool | None = None

    @property
    def name(self) -> str:
        """See :class:`~shrag.models.language_model.LanguageModel`; the address while the endpoint has not said."""
        if not self._model:
            try:
                self._model = probe(self._client).model
            except ModelError:
                return f"the model at {self._address.given}"
        return self._model

    def health(self, seconds: float = 5.0) -> EndpointHealth:
        """Ask the endpoint what it is; raises as :func:`~shrag.models.chat.endpoint_probe.probe` does."""
        return probe(self._client, self._settings.model, seconds)

    def complete(
        self, messages: Sequence[Message], schema: Mapping[str, object] | None = None, *, max_tokens: int = 1024
    ) -> Completion:
        """See :class:`~shrag.models.language_model.LanguageModel`."""
        asked = time.perf_counter()
        extra: dict[str, Any] = {}
        if schema is not None:
            extra["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": schema, "strict": True},
            }
        answer = self.read(self._ask(self._short, messages, max_tokens, extra), ChatAnswer)
        if not answer.choices:
            raise broke_off(self._address.given, "it gave no choice")
        seconds = time.perf_counter() - asked
        choice, usage = answer.choices[0], answer.usage or Usage()
        return Completion(
            text=without_thinking(choice.message.content or ""),
            finish_reason=finished(self._address.given, choice.finish_reason),
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            seconds=seconds,
            first_seconds=seconds,
        )

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> ChatStream:
        """See :class:`~shrag.models.language_model.LanguageModel`."""
        asked = time.perf_counter()
        extra = {
            "stream": True,
            "stream_options": {"include_usage": True},
            # Its connection is cut when the stream is closed, from another thread: no other request may have it then.
            "extra_headers": {"Connection": "close"},
        }
        return ChatStream(
            _Chunks(self, self._ask(self._openai, messages, max_tokens, extra)), self._address.given, asked
        )

    def close(self) -> None:
        """Let go of the connections."""
        self._openai.close()
        self._short.close()

    def read(self, answer: Any, kind: type[_Wire]) -> _Wire:  # noqa: ANN401
        """Return what openai gave, its model or the text where it is no JSON, as ``kind``."""
        try:
            return msgspec.convert(answer.to_dict(warnings=False), kind)
        except (msgspec.ValidationError, AttributeError) as error:
            raise broke_off(self._address.given, f"what came is no answer: {shown(str(error))}") from None

    def explained(self, error: Exception) -> ModelError:
        """Return what an error of the client means, as one of this room's."""
        where = self._address.given
        if isinstance(error, ModelError):
            return error
        if isinstance(error, openai.APIStatusError):
            return explain(where, self._model, error.status_code, _message(error))
        if isinstance(error, (openai.APIConnectionError, *HTTP_ERRORS)):
            self._is_vllm = None  # what answers there next may be something else
            return ModelUnavailable(f"{where} does not answer ({reason(error.__cause__ or error)}).")
        if isinstance(error, openai.APIError):
            return broke_off(where, shown(error.message))
        return broke_off(where, f"what came is no answer: {shown(str(error))}")

    def _ask(
        self, client: openai.OpenAI, messages: Sequence[Message], max_tokens: int, extra: Mapping[str, Any]
    ) -> Any:  # noqa: ANN401  (by ``stream``)
        """Return openai's answer or stream; repeats what may be repeated."""
        for attempt in range(self._settings.retries + 1):
            try:
                return client.chat.completions.create(
                    **self._request(messages, max_tokens), **extra, extra_body=self._extra_body()
                )
            except (openai.APITimeoutError, openai.APIError, ModelError, ValueError, *HTTP_ERRORS) as error:
                explained = self.explained(error)
                if attempt == self._settings.retries or not _may_repeat(error):
                    raise explained from None
                time.sleep(_pause(attempt, error))
        raise AssertionError("the last attempt returns or raises")

    def _request(self, messages: Sequence[Message], max_tokens: int) -> dict[str, Any]:
        if not self._model:
            self._model = probe(self._client).model
        return {
            "model": self._model,
            "messages": [message._asdict() for message in messages],
            "max_tokens": min(max_tokens, self._settings.max_tokens),
            "temperature": 0,
            "seed": self._settings.seed,
        }

    def _extra_body(self) -> dict[str, Any] | None:
        """Return vLLM's own fields where it is vLLM: others refuse a request that has them."""
        if self._is_vllm is None:
            self._is_vllm = bool(vllm_version(self._client))
        return {"chat_template_kwargs": {"enable_thinking": False}} if self._is_vllm else None


class _Chunks:
    """Implements :class:`~shrag.models.chat.stream.Chunks` over openai's stream."""

    def __init__(self, model: OpenAIModel, stream: openai.Stream[Any]) -> None:
        self._model = model
        self._stream = stream

    def next(self) -> ChatChunk | None:
        try:
            chunk = next(self._stream, None)
            return None if chunk is None else self._model.read(chunk, ChatChunk)
        except (openai.APIError, ValueError, *HTTP_ERRORS) as error:
            raise self._model.explained(error) from None

    def shut(self) -> None:
        shut(self._stream.response)

    def close(self) -> None:
        self._stream.close()


def _may_repeat(error: Exception) -> bool:
    if isinstance(error, openai.APIStatusError):
        return error.status_code in TRY_AGAIN
    # A request that ran out of time would only do so again.
    refused = isinstance(error, openai.APIConnectionError) and not isinstance(error, openai.APITimeoutError)
    return refused or isinstance(error, ModelUnavailable)


def _message(error: openai.APIStatusError) -> str:
    """Return the endpoint's own words, without the client's before them."""
    said = error.body.get("message") if isinstance(error.body, dict) else error.body
    return said if isinstance(said, str) else error.message


def _pause(attempt: int, error: Exception) -> float:
    """Return seconds: doubling, a little uneven so that many who failed at once do not come back at once."""
    pause: float = _FIRST_PAUSE * 2**attempt * (1 + random.random() / 4)  # noqa: S311  (nothing secret)
    if isinstance(error, openai.APIStatusError):
        asked: str = error.response.headers.get("retry-after", "")
        pause = max(pause, float(asked)) if asked.isdecimal() else pause
    return min(pause, _LONGEST_PAUSE)
