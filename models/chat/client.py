"""The client of an OpenAI-compatible chat endpoint.

This is the only module that imports ``openai``. Import it only if a model is configured.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from shrag.messages.text import Text
from shrag.models.chat.endpoint import Address, EndpointHealth, Timeouts, parse_address
from shrag.models.chat.endpoint_probe import RETRY_STATUSES, error_for_status, probe, to_one_line, vllm_version
from shrag.models.chat.http_client import HTTP_ERRORS, EndpointClient, failure_reason, shut_down
from shrag.models.chat.reasoning import strip_reasoning
from shrag.models.chat.settings import LlmSettings
from shrag.models.chat.stream import (
    ChatStream,
    CompletionResponse,
    StreamChunk,
    TokenUsage,
    check_finish_reason,
    incomplete_answer,
)
from shrag.models.decoding import convert
from shrag.models.encodable_text import encodable
from shrag.models.errors import ModelError, ModelUnavailable, PackageMissing
from shrag.models.language_model import Completion, Message

try:
    import openai
except ImportError as error:
    raise PackageMissing(
        Text("A language model needs openai ({error}): run `pip install 'shrag[llm]'`.", error=error)
    ) from error

_FIRST_BACKOFF = 0.25
_MAX_BACKOFF = 5.0

_Wire = TypeVar("_Wire")


class OpenAIModel:
    """Implements :class:`~shrag.models.language_model.LanguageModel` at ``settings.url``, which must be one address.

    Decoding is greedy with a fixed seed. A request is retried with exponential backoff if the connection failed or the
    endpoint answered 429, 502 or 503, but only before its first text. ``close`` ends the connections. The constructor
    raises ``ValueError`` for an invalid address and for more than one address.

    With ``has_priorities``, the endpoint is a vLLM that answers urgent requests before others that wait.
    """

    def __init__(self, settings: LlmSettings, *, has_priorities: bool = False) -> None:
        self._settings = settings
        self._has_priorities = has_priorities
        (url,) = settings.urls
        self._address = parse_address(url)
        timeouts = Timeouts(settings.connect_timeout, settings.read_timeout, settings.timeout)
        self._client = EndpointClient(self._address, timeouts, settings.api_key)
        # Every argument is given that the library would read from the environment; EndpointClient sets the headers.
        self._openai_client = openai.OpenAI(
            api_key="unused",
            admin_api_key="",
            organization="",
            project="",
            webhook_secret="",
            base_url=self._address.base_url,
            max_retries=0,
            # Given here too, because the library replaces a client's timeout that equals its own default.
            timeout=self._client.timeout,
            http_client=self._client,
        )
        self._complete_client = self._client_within(settings.timeout)
        self._urgent_client = self._client_within(min(settings.keyword_timeout, settings.timeout))
        self._model = settings.model
        self._is_vllm: bool | None = None

    @property
    def name(self) -> str:
        """See :class:`~shrag.models.language_model.LanguageModel`; names the address while the endpoint is down."""
        if not self._model:
            try:
                self._model = probe(self._client).model
            except ModelError:
                return f"the model at {self._address.given}"
        return self._model

    @property
    def address(self) -> Address:
        """The endpoint's address."""
        return self._address

    def health(self, seconds: float = 5.0) -> EndpointHealth:
        """Probe the endpoint; raises as :func:`~shrag.models.chat.endpoint_probe.probe` does."""
        return probe(self._client, self._settings.model, seconds)

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, object] | None = None,
        *,
        max_tokens: int = 1024,
        urgent: bool = False,
    ) -> Completion:
        """See :class:`~shrag.models.language_model.LanguageModel`."""
        started = time.perf_counter()
        extra: dict[str, Any] = {}
        if schema is not None:
            extra["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": schema, "strict": True},
            }
        client = self._urgent_client if urgent else self._complete_client
        answer = self.decode(self._create(client, messages, max_tokens, extra, urgent=urgent), CompletionResponse)
        if not answer.choices:
            raise incomplete_answer(self._address.given, Text("the response has no choices"))
        seconds = time.perf_counter() - started
        choice, usage = answer.choices[0], answer.usage or TokenUsage()
        return Completion(
            text=strip_reasoning(choice.message.content or ""),
            finish_reason=check_finish_reason(self._address.given, choice.finish_reason),
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            seconds=seconds,
            first_seconds=seconds,
        )

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> ChatStream:
        """See :class:`~shrag.models.language_model.LanguageModel`."""
        started = time.perf_counter()
        extra = {
            "stream": True,
            "stream_options": {"include_usage": True},
            # Closing the stream shuts its socket down, from any thread, so no other request may share the socket.
            "extra_headers": {"Connection": "close"},
        }
        return ChatStream(
            _OpenAIChunks(self, self._create(self._openai_client, messages, max_tokens, extra)),
            self._address.given,
            started,
        )

    def close(self) -> None:
        """Close the connections."""
        self._openai_client.close()
        self._complete_client.close()
        self._urgent_client.close()

    def decode(self, answer: Any, kind: type[_Wire]) -> _Wire:  # noqa: ANN401
        """Convert a response object of ``openai`` (a string if the body is not JSON) to ``kind``."""
        try:
            return convert(answer.to_dict(warnings=False), kind)
        except (msgspec.ValidationError, AttributeError) as error:
            raise incomplete_answer(
                self._address.given, Text("invalid response: {error}", error=to_one_line(str(error)))
            ) from None

    def to_model_error(self, error: Exception) -> ModelError:
        """Return the :class:`ModelError` that stands for an error of the client."""
        where = self._address.given
        if isinstance(error, ModelError):
            return error
        if isinstance(error, openai.APIStatusError):
            model_error = error_for_status(where, self._model, error.status_code, _error_message(error))
            if error.status_code == 404:
                self._forget()
            return model_error
        if isinstance(error, (openai.APIConnectionError, *HTTP_ERRORS)):
            self._forget()
            return ModelUnavailable(
                Text(
                    "{where} does not answer ({failure_reason}).",
                    where=where,
                    failure_reason=failure_reason(error.__cause__ or error),
                )
            )
        if isinstance(error, openai.APIError):
            return incomplete_answer(where, to_one_line(error.message))
        return incomplete_answer(where, Text("invalid response: {error}", error=to_one_line(str(error))))

    def _client_within(self, seconds: float) -> openai.OpenAI:
        """Return a client for responses that are complete within ``seconds``, of which nothing comes before."""
        limited = EndpointClient(
            self._address, Timeouts(self._settings.connect_timeout, seconds, seconds), self._settings.api_key
        )
        return self._openai_client.copy(http_client=limited, timeout=limited.timeout)

    def _create(
        self,
        client: openai.OpenAI,
        messages: Sequence[Message],
        max_tokens: int,
        extra: Mapping[str, Any],
        *,
        urgent: bool = False,
    ) -> Any:  # noqa: ANN401  (by ``stream``)
        """Send a request with retries; return openai's response or stream."""
        for attempt in range(self._settings.retries + 1):
            try:
                return client.chat.completions.create(
                    **self._request(messages, max_tokens), **extra, extra_body=self._extra_body(urgent)
                )
            except (openai.APITimeoutError, openai.APIError, ModelError, ValueError, *HTTP_ERRORS) as error:
                model_error = self.to_model_error(error)
                if attempt == self._settings.retries or not _is_retryable(error):
                    raise model_error from None
                time.sleep(_backoff(attempt, error))
        raise AssertionError("the last attempt returns or raises")

    def _request(self, messages: Sequence[Message], max_tokens: int) -> dict[str, Any]:
        self._model = model = self._model or probe(self._client).model
        return {
            "model": model,
            "messages": [{"role": message.role, "content": encodable(message.content)} for message in messages],
            "max_tokens": min(max_tokens, self._settings.max_tokens),
            "temperature": 0,
            "seed": self._settings.seed,
        }

    def _forget(self) -> None:
        """Forget what is served at the address, since another program or model may answer there next."""
        self._is_vllm = None
        self._model = self._settings.model

    def _extra_body(self, urgent: bool) -> dict[str, Any] | None:
        """Return vLLM's extra fields if the endpoint is vLLM; other servers reject them."""
        if self._is_vllm is None:
            self._is_vllm = bool(vllm_version(self._client))
        if not self._is_vllm:
            return None
        # A lower number is answered earlier. Without `--scheduling-policy priority`, vLLM refuses any number but 0.
        priority = {"priority": -1} if urgent and self._has_priorities else {}
        return {"chat_template_kwargs": {"enable_thinking": False}, **priority}


class _OpenAIChunks:
    """Implements :class:`~shrag.models.chat.stream.ChunkSource` over openai's stream."""

    def __init__(self, model: OpenAIModel, stream: openai.Stream[Any]) -> None:
        self._model = model
        self._stream = stream

    def next(self) -> StreamChunk | None:
        try:
            chunk = next(self._stream, None)
            return None if chunk is None else self._model.decode(chunk, StreamChunk)
        except (openai.APIError, ValueError, *HTTP_ERRORS) as error:
            raise self._model.to_model_error(error) from None

    def shut_down(self) -> None:
        shut_down(self._stream.response)

    def close(self) -> None:
        self._stream.close()


def _is_retryable(error: Exception) -> bool:
    if isinstance(error, openai.APIStatusError):
        return error.status_code in RETRY_STATUSES
    # A request that timed out would only time out again.
    failed = isinstance(error, openai.APIConnectionError) and not isinstance(error, openai.APITimeoutError)
    return failed or isinstance(error, ModelUnavailable)


def _error_message(error: openai.APIStatusError) -> str:
    """Return the endpoint's own message, without the client library's prefix."""
    message = error.body.get("message") if isinstance(error.body, dict) else error.body
    return message if isinstance(message, str) else error.message


def _backoff(attempt: int, error: Exception) -> float:
    """Return the seconds to wait: exponential with jitter, at least the ``Retry-After`` header, at most 5."""
    pause: float = _FIRST_BACKOFF * 2**attempt * (1 + random.random() / 4)  # noqa: S311  (nothing secret)
    if isinstance(error, openai.APIStatusError):
        retry_after: str = error.response.headers.get("retry-after", "")
        pause = max(pause, float(retry_after)) if retry_after.isdecimal() else pause
    return min(pause, _MAX_BACKOFF)
