"""Fold events into what a page shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from shrag.corpora.text.sentences import detect_language
from shrag.serving.events import (
    Answer,
    AnswerSentence,
    CutShort,
    Event,
    Fallback,
    Hits,
    Keywords,
    ModelCall,
    Node,
    Queries,
    Ranking,
    Timings,
)
from shrag.serving.page.request import Asked
from shrag.serving.request import AnswerLanguage
from shrag.serving.results import AskResult


@dataclass(slots=True)
class Seen:
    """What has happened to a question so far; None is what has not happened yet.

    ``nodes`` are the questions asked on the way by number, each as it stands now, in the order in which they came up.
    """

    question: str
    language: AnswerLanguage
    keywords: Keywords | None = None
    queries: Queries | None = None
    hits: Hits | None = None
    ranking: Ranking | None = None
    answer: Answer | None = None
    timings: Timings | None = None
    nodes: dict[int, Node] = field(default_factory=dict)
    cut_short: tuple[CutShort, ...] = ()
    calls: tuple[ModelCall, ...] = ()
    fallbacks: tuple[Fallback, ...] = ()
    cached: bool = False

    def add(self, event: Event) -> None:
        """Take an event in."""
        match event:
            case Keywords() | Queries() | Hits() | Ranking() | Answer() | Timings():
                setattr(self, event.event, event)  # each has its place under its tag
            case Node():
                self.nodes[event.number] = event
            case CutShort():
                self.cut_short = (*self.cut_short, event)
            case ModelCall():
                self.calls = (*self.calls, event)
            case Fallback():
                self.fallbacks = (*self.fallbacks, event)
            case AnswerSentence():
                pass  # the answer has it again
            case _:
                assert_never(event)


def seen_of(result: AskResult) -> Seen:
    """Return what has happened where everything has."""
    search = result.search
    seen = Seen(search.question.text, search.question.language, cached=search.timings.cached)
    on_the_way: list[Event] = [*search.nodes, *search.cut_short, *search.model_calls, *search.fallbacks]
    found: list[Event] = [search.keywords, search.queries, search.hits, search.ranking]
    for event in (*on_the_way, *found, result.answer, search.timings):
        seen.add(event)
    return seen


def answer_language(seen: Seen, asked: Asked) -> AnswerLanguage:
    """Return the language of the answer, and of the questions asked on the way to it."""
    # A question of digits or signs alone is in no language: the reader's is the better guess.
    return asked.language if detect_language(seen.question) == "und" else seen.language
