"""Engines for the page's tests whose rankings have a confidence, and whose answers are refused, as a test asks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shrag.indexing.open_index import OpenIndex
from shrag.models.language_model import LanguageModel
from shrag.serving.answering.refusal import refuse
from shrag.serving.engine import Engine
from shrag.serving.event_run import EventRun
from shrag.serving.events import Answer, AnswerSentence, Confidence, Event, Ranking
from shrag.serving.request import Request

UNCOVERED = ("<b>피자</b>", "pizza")


class ConfidentEngine(Engine):
    """An engine whose rankings have the confidence given, and which refuses every question where it is low."""

    def __init__(self, index: OpenIndex, confidence: Confidence, model: LanguageModel | None = None) -> None:
        super().__init__(index, model)
        self._confidence = confidence

    def run(self, request: Request) -> EventRun[Event]:
        """See :class:`~shrag.serving.engine.Engine`."""
        ranking: Ranking | None = None

        def edit(event: Event) -> Iterator[Event]:
            nonlocal ranking
            if isinstance(event, Ranking):
                event = ranking = replace(event, confidence=self._confidence)
            elif isinstance(event, Answer) and ranking is not None and self._confidence.level == "low":
                event = refuse(request.question, ranking, "nothing_fits")
            elif isinstance(event, AnswerSentence) and self._confidence.level == "low":
                return
            yield event

        return super().run(request).map(edit)


def confident(index: OpenIndex, model: LanguageModel | None = None) -> ConfidentEngine:
    """Return an engine that is moderately confident of every answer."""
    return ConfidentEngine(index, Confidence(0.6, "medium"), model)


def refusing(index: OpenIndex) -> ConfidentEngine:
    """Return an engine that refuses every question, for lack of the words :data:`UNCOVERED`."""
    return ConfidentEngine(index, Confidence(0.1, "low", UNCOVERED))
