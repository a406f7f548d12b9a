"""SearchResult and AskResult, folded from a list of events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

from shrag.serving.answer_cache import CachedAnswer
from shrag.serving.errors import ClientLeft
from shrag.serving.events import (
    Answer,
    AnswerSentence,
    Event,
    Fallback,
    Hits,
    Keywords,
    ModelCall,
    Node,
    Queries,
    Ranking,
    Timings,
    Truncated,
)
from shrag.serving.request import Question, Request


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What happened up to the ranking, and how long it took.

    ``nodes`` are the final states of the questions asked on the way, in the order in which they came up.
    """

    question: Question
    strategy: str
    index: str
    generation: int
    keywords: Keywords
    queries: Queries
    hits: Hits
    ranking: Ranking
    timings: Timings
    model_calls: tuple[ModelCall, ...] = ()
    fallbacks: tuple[Fallback, ...] = ()
    nodes: tuple[Node, ...] = ()
    truncated: tuple[Truncated, ...] = ()


@dataclass(frozen=True, slots=True)
class AskResult:
    """An answer, and the search it was made from; the search's timings are those of both."""

    answer: Answer
    search: SearchResult


@dataclass(slots=True, kw_only=True)
class EventState:
    """The events of a question as far as they have come; None is what has not happened yet.

    ``nodes`` are the questions asked on the way by number, each as it stands now, in the order in which they came up.
    """

    keywords: Keywords | None = None
    queries: Queries | None = None
    hits: Hits | None = None
    ranking: Ranking | None = None
    answer: Answer | None = None
    timings: Timings | None = None
    nodes: dict[int, Node] = field(default_factory=dict)
    truncated: tuple[Truncated, ...] = ()
    model_calls: tuple[ModelCall, ...] = ()
    fallbacks: tuple[Fallback, ...] = ()

    def add(self, event: Event) -> None:
        """Take an event in."""
        match event:
            case Keywords() | Queries() | Hits() | Ranking() | Answer() | Timings():
                setattr(self, event.event, event)  # each has its field under its tag
            case Node():
                self.nodes[event.number] = event
            case Truncated():
                self.truncated = (*self.truncated, event)
            case ModelCall():
                self.model_calls = (*self.model_calls, event)
            case Fallback():
                self.fallbacks = (*self.fallbacks, event)
            case AnswerSentence():
                pass  # the answer has it again
            case _:
                assert_never(event)


def fold_events(events: Iterable[Event]) -> EventState:
    """Return the state that all the events come to."""
    state = EventState()
    for event in events:
        state.add(event)
    return state


def search_result(index: str, generation: int, request: Request, events: Iterable[Event]) -> SearchResult:
    """Return the search in ``events``, which are complete, of one generation of an index.

    Raises:
        ClientLeft: The events end before the timings, which every stream ends with: the run was cancelled.
    """
    return _search(index, generation, request, fold_events(events))


def ask_result(index: str, generation: int, request: Request, events: Iterable[Event]) -> AskResult:
    """Return the answer in ``events``, which are complete, and its search; raises as :func:`search_result` does."""
    state = fold_events(events)
    search = _search(index, generation, request, state)
    if state.answer is None:
        raise ValueError("The events have no answer: the request asked for none.")
    return AskResult(state.answer, search)


def cached_search(cached: CachedAnswer) -> SearchResult:
    """Return the search of a cached answer."""
    return search_result(cached.key.index, cached.key.generation, cached.key.request, cached.events)


def cached_ask(cached: CachedAnswer) -> AskResult:
    """Return a cached answer and its search."""
    return ask_result(cached.key.index, cached.key.generation, cached.key.request, cached.events)


def _search(index: str, generation: int, request: Request, state: EventState) -> SearchResult:
    keywords, queries, hits, ranking, timings = (
        state.keywords, state.queries, state.hits, state.ranking, state.timings
    )  # fmt: skip
    if keywords is None or queries is None or hits is None or ranking is None or timings is None:
        raise ClientLeft("The question was withdrawn: ask it again.")
    return SearchResult(
        question=request.question,
        strategy=request.strategy,
        index=index,
        generation=generation,
        keywords=keywords,
        queries=queries,
        hits=hits,
        ranking=ranking,
        timings=timings,
        model_calls=state.model_calls,
        fallbacks=state.fallbacks,
        nodes=tuple(state.nodes.values()),
        truncated=state.truncated,
    )
