"""Results of searches and answers, built from the events of a question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, assert_never

import msgspec

from shrag.corpora.records import Record
from shrag.indexing.record_filter import EVERY_RECORD, FacetCounts, RecordFilter
from shrag.messages.text import Text
from shrag.serving.answer_cache import CachedAnswer
from shrag.serving.answering.formats import REASONS, answer_text, unknown_value_line
from shrag.serving.errors import ClientDisconnected
from shrag.serving.events import (
    Answer,
    AnswerSentence,
    Authors,
    Event,
    Facets,
    Fallback,
    FollowUp,
    Hits,
    Keywords,
    ModelCall,
    Node,
    Queries,
    RankedRecord,
    Ranking,
    Timings,
    Truncated,
)
from shrag.serving.notebook import answer_html, ranking_html
from shrag.serving.references.formats import ReferenceFormat, write_references
from shrag.serving.request import AnswerLanguage, Question, Request

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The events up to the ranking, and the timings. Iterating over it gives the ranked records, best first.

    ``nodes`` are the questions of a plan in their final states, in the order in which they came up. ``facets`` are the
    counts over all hits, or None if the request did not ask for them. ``follow_up`` says how a follow-up question was
    read, or is None if it was read as it stands. ``authors`` are the authors that the question names, or None.
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
    record_filter: RecordFilter = EVERY_RECORD
    facets: FacetCounts | None = None
    follow_up: FollowUp | None = None
    authors: Authors | None = None

    def __iter__(self) -> Iterator[RankedRecord]:
        return iter(self.ranking.records)

    @property
    def message(self) -> str:
        """Why there are no records; empty if there are some. With facets, it also says which filter values exist."""
        return self.message_in(self.question.language)

    def message_in(self, language: AnswerLanguage) -> str:
        """Return the :attr:`message` in another language.

        Args:
            language: ``ko`` or ``en``.

        Returns:
            The message; empty if there are records.
        """
        if not (reason := self.ranking.reason):
            return ""
        return f"{REASONS[language][reason]} {unknown_value_line(self.record_filter, self.facets, language)}".rstrip()

    def __len__(self) -> int:
        return len(self.ranking.records)

    def __bool__(self) -> bool:
        """Return True: a search that found nothing is a result too."""
        return True

    def __getitem__(self, place: int) -> RankedRecord:
        return self.ranking.records[place]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists, text and numbers."""
        return _to_dict(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame with a row for each record: ``rank``, ``score``, and the fields of the record.

        Raises:
            ModuleNotFoundError: pandas is not installed.
        """
        import pandas as pd

        rows = [{"rank": each.rank, "score": each.score, **_to_dict(each.record)} for each in self]
        return pd.DataFrame(rows, columns=["rank", "score", *Record.__dataclass_fields__])

    def references(self, form: ReferenceFormat) -> str:
        """Return the references of the records as the text of a file: ``bibtex``, ``ris``, ``csl-json`` or ``csv``."""
        return write_references([each.record for each in self], form)

    def _repr_html_(self) -> str:
        """Return the records as an HTML table, for notebooks."""
        return ranking_html(self.ranking, self.question.language)


@dataclass(frozen=True, slots=True)
class AskResult:
    """An answer and the search that it was made from. The timings of the search include the answer's."""

    answer: Answer
    search: SearchResult

    @property
    def text(self) -> str:
        """The answer as text with numbered citations, or the reason why there is no answer."""
        return answer_text(self.answer)

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists, text and numbers; ``text`` is the answer as text."""
        return {"text": self.text, **_to_dict(self)}

    def _repr_html_(self) -> str:
        """Return the answer and the records that it cites as HTML, for notebooks."""
        return answer_html(self.answer)


def _to_dict(value: object) -> dict[str, Any]:
    builtins: dict[str, Any] = msgspec.to_builtins(value)
    return builtins


@dataclass(slots=True, kw_only=True)
class EventState:
    """The events of a question so far; None for an event that has not come yet.

    ``nodes`` are the questions of a plan by number, in their current states. They are in the order in which they came
    up.
    """

    follow_up: FollowUp | None = None
    authors: Authors | None = None
    keywords: Keywords | None = None
    queries: Queries | None = None
    hits: Hits | None = None
    ranking: Ranking | None = None
    facets: Facets | None = None
    answer: Answer | None = None
    timings: Timings | None = None
    nodes: dict[int, Node] = field(default_factory=dict)
    truncated: tuple[Truncated, ...] = ()
    model_calls: tuple[ModelCall, ...] = ()
    fallbacks: tuple[Fallback, ...] = ()

    def add(self, event: Event) -> None:
        """Add an event."""
        match event:
            case FollowUp() | Authors() | Keywords() | Queries() | Hits() | Ranking() | Facets() | Answer() | Timings():
                setattr(self, event.event, event)  # the field has the name of the tag
            case Node():
                self.nodes[event.number] = event
            case Truncated():
                self.truncated = (*self.truncated, event)
            case ModelCall():
                self.model_calls = (*self.model_calls, event)
            case Fallback():
                self.fallbacks = (*self.fallbacks, event)
            case AnswerSentence():
                pass  # it is part of the answer
            case _:
                assert_never(event)


def fold_events(events: Iterable[Event]) -> EventState:
    """Return the state after all events."""
    state = EventState()
    for event in events:
        state.add(event)
    return state


def search_result(index: str, generation: int, request: Request, events: Iterable[Event]) -> SearchResult:
    """Return the search result of a question's ``events`` from one generation of an index.

    Raises:
        ClientDisconnected: The run was cancelled: the events lack the timings, which are the last of every stream.
    """
    return _search(index, generation, request, fold_events(events))


def ask_result(index: str, generation: int, request: Request, events: Iterable[Event]) -> AskResult:
    """Return the answer in a question's ``events``, and its search; raises as :func:`search_result` does."""
    state = fold_events(events)
    search = _search(index, generation, request, state)
    if state.answer is None:
        raise ValueError("The events have no answer: the request asked for none.")
    return AskResult(state.answer, search)


def cached_search(cached: CachedAnswer) -> SearchResult:
    """Return the search result of a cached answer."""
    return search_result(cached.key.index, cached.key.generation, cached.key.request, cached.events)


def cached_ask(cached: CachedAnswer) -> AskResult:
    """Return a cached answer and its search."""
    return ask_result(cached.key.index, cached.key.generation, cached.key.request, cached.events)


def _search(index: str, generation: int, request: Request, state: EventState) -> SearchResult:
    if not (state.keywords and state.queries and state.hits and state.ranking and state.timings):
        raise ClientDisconnected(Text("The question was cancelled: ask it again."))
    return SearchResult(
        question=request.question,
        strategy=request.strategy,
        index=index,
        generation=generation,
        keywords=state.keywords,
        queries=state.queries,
        hits=state.hits,
        ranking=state.ranking,
        timings=state.timings,
        model_calls=state.model_calls,
        fallbacks=state.fallbacks,
        nodes=tuple(state.nodes.values()),
        truncated=state.truncated,
        record_filter=request.record_filter,
        facets=state.facets.counts if state.facets is not None else None,
        follow_up=state.follow_up,
        authors=state.authors,
    )
