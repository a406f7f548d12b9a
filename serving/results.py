"""SearchResult and AskResult, folded from a list of events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from shrag.serving.answer_cache import KeptAnswer
from shrag.serving.events import (
    Answer,
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
from shrag.serving.question import Question
from shrag.serving.strategy import Request

_Kind = TypeVar("_Kind")


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What happened up to the ranking, and how long it took.

    ``nodes`` are the questions asked on the way as they stood at the end, in the order in which they came up.
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
    cut_short: tuple[CutShort, ...] = ()


@dataclass(frozen=True, slots=True)
class AskResult:
    """An answer, and the search it was made from; the search's timings are those of both."""

    answer: Answer
    search: SearchResult


def search_result(
    index: str, generation: int, request: Request, strategy: str, events: Sequence[Event]
) -> SearchResult:
    """Return the search in ``events``, which are whole."""
    return SearchResult(
        question=request.question,
        strategy=strategy,
        index=index,
        generation=generation,
        keywords=_first(Keywords, events),
        queries=_first(Queries, events),
        hits=_first(Hits, events),
        ranking=_first(Ranking, events),
        timings=_first(Timings, events),
        model_calls=tuple(event for event in events if isinstance(event, ModelCall)),
        fallbacks=tuple(event for event in events if isinstance(event, Fallback)),
        nodes=tuple({event.number: event for event in events if isinstance(event, Node)}.values()),
        cut_short=tuple(event for event in events if isinstance(event, CutShort)),
    )


def ask_result(index: str, generation: int, request: Request, strategy: str, events: Sequence[Event]) -> AskResult:
    """Return the answer in ``events``, which are whole, and its search."""
    return AskResult(_first(Answer, events), search_result(index, generation, request, strategy, events))


def kept_search(kept: KeptAnswer) -> SearchResult:
    """Return the search that ``kept`` is, or that its answer was made from."""
    key = kept.key
    return search_result(key.index, key.generation, key.request, key.strategy, kept.events)


def kept_ask(kept: KeptAnswer) -> AskResult:
    """Return the answer that ``kept`` is, and its search."""
    key = kept.key
    return ask_result(key.index, key.generation, key.request, key.strategy, kept.events)


def _first(kind: type[_Kind], events: Iterable[Event]) -> _Kind:
    return next(event for event in events if isinstance(event, kind))
