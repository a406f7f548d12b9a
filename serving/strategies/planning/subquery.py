"""Searches for the sub-questions of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import msgspec

from shrag.corpora.records import Record
from shrag.corpora.text.cleaning import plain_line
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.models.language_model import LanguageModel
from shrag.serving.answering.answer import StageTimer
from shrag.serving.concurrency import parallel_map
from shrag.serving.events import Event, Hits, Keywords, ModelCall, Node, NodeState, Queries, RankedRecord, Ranking
from shrag.serving.llm.structured_call import PromptCall, call_model
from shrag.serving.request import Question, Request
from shrag.serving.retrieval.ranking import RetrievalResult
from shrag.serving.search_settings import Candidates
from shrag.serving.strategies.shrag import retrieve
from shrag.serving.strategy import Resources


@dataclass(frozen=True, slots=True)
class SubqueryResult(RetrievalResult):
    """The search result for ``question``, a question of a plan; ``model_events`` are the model's calls for it.

    A plan uses the first page, whatever page is requested: ``ranking`` has this page, ``further`` the records behind
    it.
    """

    question: Question
    model_events: tuple[Event, ...]
    further: tuple[RankedRecord, ...] = ()

    def records(self, most: int) -> list[AnalyzedRecord]:
        """Return the best ``most`` records, analyzed, in the order of the ranking."""
        records = {each.record.docid: each for each in self.candidates}
        return [records[ranked.record.docid] for ranked in self.ranking.records[:most]]

    def best(self, most: int) -> list[Record]:
        """Return the best ``most`` records, in the order of the ranking."""
        return [ranked.record for ranked in self.ranking.records[:most]]

    @property
    def docids(self) -> tuple[str, ...]:
        """The docids of the ranking, best first."""
        return tuple(ranked.record.docid for ranked in self.ranking.records)

    def update_node(self, node: Node, query: str = "") -> Node:
        """Return ``node`` with the records that ``query``, by default its own question, found for it."""
        state: NodeState = "answered" if self.docids else "unanswered"
        return replace(node, query=query or node.question, docids=self.docids, state=state)

    def only(self, records: Iterable[RankedRecord]) -> SubqueryResult:
        """Return the result with only these records in its ranking, ranked anew from 1, and without further ones."""
        renumbered = tuple(replace(ranked, rank=rank) for rank, ranked in enumerate(records, 1))
        return replace(self, ranking=replace(self.ranking, records=renumbered, more=False), further=())


def find(question: Question, request: Request, resources: Resources, default: Candidates = "lexical") -> SubqueryResult:
    """Search for ``question`` with the settings of ``request``, which was made for another question.

    ``default`` says where candidates come from if the settings leave that to the strategy.
    """
    source = default if request.settings.candidates == "strategy" else request.settings.candidates
    steps = retrieve(request._replace(question=question), resources, source, StageTimer())
    events: list[Event] = []
    try:
        while True:
            events.append(next(steps))
    except StopIteration as end:
        found: RetrievalResult = end.value
    return SubqueryResult(
        found.terms,
        found.keywords,
        found.queries,
        found.hits,
        replace(found.ranking, records=found.ranking.records[: found.first_page]),
        found.candidates,
        question=question,
        model_events=tuple(event for event in events if not isinstance(event, Keywords | Queries | Hits | Ranking)),
        further=found.ranking.records[found.first_page :],
    )


def find_all(
    questions: Sequence[Question], request: Request, resources: Resources, default: Candidates = "lexical"
) -> list[SubqueryResult]:
    """Search for several questions in parallel, as :func:`find` does; the results are in their order."""
    return parallel_map(lambda question: find(question, request, resources, default), questions)


def question_key(text: str) -> str:
    """Return the letters and digits of a question, which identify repeated questions; empty without any.

    >>> question_key("Who is he?") == question_key("who IS he")
    True
    """
    return "".join(character for character in text.casefold() if character.isalnum())


class _Query(msgspec.Struct, frozen=True):
    query: Annotated[str, msgspec.Meta(min_length=1, max_length=300)]


def write_query(question: Question, model: LanguageModel) -> tuple[Question, list[ModelCall]]:
    """Return the model's search query for ``question``, or ``question`` if the query is empty.

    Raises as :func:`~shrag.serving.llm.structured_call.call_model` does.
    """
    call = PromptCall("query", "query", question.language, {"question": question.text}, max_tokens=128)
    reply, calls = call_model(model, call, _Query)
    return Question(plain_line(reply.query) or question.text, question.language), calls
