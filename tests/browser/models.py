"""Language models for the page's tests: one that writes as fast as a test lets it, one that is away."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from shrag.models.errors import ModelUnavailable
from shrag.models.language_model import Completion, Message
from tests.support.scripted_models import Line, ScriptedModel, ScriptedStream, ScriptFile, listed

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"
ENGLISH = "How does table-preserving chunking affect retrieval-augmented generation?"

HOPS = "양파 도매가격을 예측한 신경망은 지하수위를 얼마나 잘 예측하나?"
"""What the script ``tree`` is about: the answer to one question of the tree stands in another."""

BEGUN = (
    "##제목##\n재택근무와 <b>갈등</b>\n##본론##\n",
    "재택근무 일수와 갈등의 관계를 분석하였다 [1]. 갈등은 987% 커졌다 [1]. 끝",
)
"""A title, a sentence that holds and one that does not; the last two sentences are told only once more has come."""

REST = " [1]."


class HeldStream(ScriptedStream):
    """A stream that waits before its last piece until it may go on or is closed."""

    def __init__(self, pieces: Sequence[Line]) -> None:
        super().__init__(pieces)
        self.may_go_on = threading.Event()

    def __iter__(self) -> Iterator[str]:
        *begun, last = self._pieces
        yield from ScriptedStream(begun)
        self.may_go_on.wait(20)
        if not self.closed:
            yield from ScriptedStream([last])

    def close(self) -> None:
        """Let go of it."""
        super().close()
        self.may_go_on.set()


class HeldModel(ScriptedModel):
    """A scripted model whose streams are held."""

    def __init__(self, *answer: Line) -> None:
        super().__init__(listed("재택근무", "갈등"), listed("remote work"), answer or (*BEGUN, REST))

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> ScriptedStream:
        """See :class:`~shrag.models.language_model.LanguageModel`."""
        self.streams.append(HeldStream(self.answer))
        return self.streams[-1]

    def go_on(self) -> None:
        """Let the newest stream write the rest."""
        stream = self.streams[-1]
        assert isinstance(stream, HeldStream)
        stream.may_go_on.set()


class HeldScript(ScriptFile):
    """A scripted model that says nothing to the prompts held until each is let go on."""

    def __init__(self, script: str, *held: str) -> None:
        super().__init__(script)
        self._held = {prompt: threading.Event() for prompt in held}

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, object] | None = None,
        *,
        max_tokens: int = 1024,
        urgent: bool = False,
    ) -> Completion:
        """See :class:`~shrag.models.language_model.LanguageModel`."""
        prompt, _ = next(asked for head, asked in self._heads.items() if messages[0].content.startswith(head))
        if prompt in self._held:
            self._held[prompt].wait(20)
        return super().complete(messages, schema, max_tokens=max_tokens)

    def go_on(self, prompt: str) -> None:
        """Let a prompt be answered from now on."""
        self._held[prompt].set()


def insatiable_model() -> ScriptFile:
    """Return a model to which no answer holds, and which always has smaller questions."""
    model, made = ScriptFile("tree"), count(1)
    model.make("query", lambda: json.dumps({"query": "onion price"}))
    model.make(
        "branch", lambda: json.dumps({"kind": "comparison", "questions": [f"양파 {next(made)}?" for _ in "12345"]})
    )
    model.make("solve", lambda: json.dumps({"solution": "", "record": 0}))
    model.say("evaluate", '{"coherence": 4, "answerability": 20, "valid": false}')
    return model


def writing_model(*answer: Line) -> ScriptedModel:
    """Return a model that writes at once."""
    return ScriptedModel(listed("재택근무", "갈등"), listed("remote work"), answer or (*BEGUN, REST))


def absent_model() -> ScriptedModel:
    """Return a model that does not answer."""
    away = ModelUnavailable("The model does not answer: start it.")
    return ScriptedModel(away, away, (away,))
