"""An answer as the text of a chat message, grown event by event, with the places of its citations.

Chat programs show Markdown. What comes from a record or a model must not become a picture or a link in it: a picture's
address would carry the conversation out (reliability: EchoLeak, CVE-2025-32711).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

from shrag.serving.events import Answer, AnswerSentence, Citation, Event, Fallback, Part, Sentence
from shrag.serving.openai_wire import Annotation, UrlCitation
from shrag.serving.phrases import DOUBTS, FALLBACKS, HEADINGS, REASONS, answer_label
from shrag.serving.question import AnswerLanguage

_ACTIVE = re.compile(r"!\[|\]\(|\]\[|\]:|<(?=[A-Za-z/!?])|`{3,}|~{3,}")
_SOURCES = {"ko": "출처", "en": "Sources"}


def defuse(text: str) -> str:
    r"""Return ``text`` so that no Markdown reader makes a picture, a link, HTML or a code block of it.

    >>> defuse("![x](http://evil.example) <img src=x> a < b [1]")
    '!\\[x]\\(http://evil.example) \\<img src=x> a < b [1]'
    """
    return _ACTIVE.sub(lambda match: match.group()[:-1] + "\\" + match.group()[-1], text)


class ChatText:
    """Grows by events; what each adds is to be sent as it is. ``language`` is the question's."""

    def __init__(self, language: AnswerLanguage, address: Callable[[str], str]) -> None:
        self._language: AnswerLanguage = language
        self._address = address
        self._text: list[str] = []
        self._length = 0
        self._part: Part | None = None
        self._marks: dict[int, tuple[int, int]] = {}
        self._answer: Answer | None = None

    @property
    def text(self) -> str:
        """All of it so far."""
        return "".join(self._text)

    @property
    def finish_reason(self) -> Literal["stop", "length"]:
        """How the answer ended; ``length`` where a model was cut short."""
        return "stop" if self._answer is None or self._answer.complete else "length"

    def feed(self, event: Event) -> str:
        """Return what ``event`` adds, often nothing."""
        before = len(self._text)
        if isinstance(event, AnswerSentence):
            self._sentence(event)
        elif isinstance(event, Fallback) and event.stage == "answer":
            self._fallback(event)
        elif isinstance(event, Answer):
            self._end(event)
        return "".join(self._text[before:])

    @property
    def annotations(self) -> tuple[Annotation, ...]:
        """The records cited, each with the place of its first mark in the text; complete once the answer is there."""
        if self._answer is None:
            return ()
        return tuple(
            Annotation(
                UrlCitation(self._address(one.docid), one.title or one.docid, *self._marks.get(one.number, (0, 0)))
            )
            for one in self._answer.citations
        )

    def _sentence(self, event: AnswerSentence) -> None:
        if event.part != self._part:
            self._part = event.part
            gap = "\n\n" if self._length else ""
            if event.part == "title":
                self._add(f"{gap}## ")
            else:
                self._add(f"{gap}### {HEADINGS[self._language][event.part]}\n\n")
        elif self._text:
            self._add(" ")
        self._add(defuse(event.sentence.text))
        if event.part != "title":
            self._add_marks(event.sentence)

    def _add_marks(self, sentence: Sentence) -> None:
        if sentence.citations:
            self._add(" ")
        for number in sentence.citations:
            mark = f"[{number}]"
            self._marks.setdefault(number, (self._length, self._length + len(mark)))
            self._add(mark)
        if sentence.doubt:
            self._add(f" (⚠ {DOUBTS[self._language][sentence.doubt]})")

    def _fallback(self, event: Fallback) -> None:
        """Say that what stands above was broken off; marks of it are no longer the answer's."""
        gap = "\n\n" if self._length else ""
        self._add(f"{gap}> {FALLBACKS[self._language][event.cause]}")
        self._part = None
        self._marks.clear()

    def _end(self, answer: Answer) -> None:
        self._answer = answer
        gap = "\n\n" if self._length else ""
        if answer.reason:
            self._add(gap + REASONS[answer.language][answer.reason])
            return
        self._add(f"{gap}*{answer_label(answer)}*")
        if answer.citations:
            self._add(f"\n\n**{_SOURCES[answer.language]}**\n\n" + "\n".join(_sources(answer.citations)))

    def _add(self, text: str) -> None:
        self._text.append(text)
        self._length += len(text)


def _sources(citations: Sequence[Citation]) -> list[str]:
    return [f"- [{one.number}] {defuse(one.title)} ({defuse(one.docid)})" for one in citations]
