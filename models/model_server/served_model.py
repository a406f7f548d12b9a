"""The language model of a :class:`~shrag.models.model_server.server.ModelServer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from shrag.messages.text import Text
from shrag.models.chat.client import OpenAIModel
from shrag.models.chat.settings import LlmSettings
from shrag.models.errors import ModelUnavailable
from shrag.models.language_model import Completion, CompletionStream, Message
from shrag.models.model_server.command import served_name
from shrag.models.model_server.server import ModelServer


class ServedModel:
    """Implements :class:`~shrag.models.language_model.LanguageModel` over a running :class:`ModelServer`."""

    def __init__(self, settings: LlmSettings, server: ModelServer) -> None:
        self._server = server
        self.name = served_name(settings)
        self._model = OpenAIModel(
            msgspec.structs.replace(
                settings, url=server.address, model=self.name, command=[], weights="", flags=[], budget="", card=""
            ),
            has_priorities=True,
        )

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, object] | None = None,
        *,
        max_tokens: int = 1024,
        urgent: bool = False,
    ) -> Completion:
        """See :class:`~shrag.models.language_model.LanguageModel`."""
        self._check()
        return self._model.complete(messages, schema, max_tokens=max_tokens, urgent=urgent)

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> CompletionStream:
        """See :class:`~shrag.models.language_model.LanguageModel`."""
        self._check()
        return self._model.stream(messages, max_tokens=max_tokens)

    def close(self) -> None:
        """Close the connections; the server keeps running."""
        self._model.close()

    def _check(self) -> None:
        state = self._server.state
        if state.phase != "ready":
            raise ModelUnavailable(Text("{name} is {state}: try later.", name=self.name, state=state.text))
