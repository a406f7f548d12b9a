"""Search for one sub-question as the strategy shrag does."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, TypeVar

import msgspec

from shrag.corpora.records import Record
from shrag.corpora.text.cleaning import plain_line
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.serving.concurrency import parallel_map
from shrag.serving.events import Event, Hits, Keywords, ModelCall, Node, Queries, RankedRecord, Ranking
from shrag.serving.llm.call_budget import RationedModel
from shrag.serving.llm.structured_call import PromptCall, ask
from shrag.serving.request import Question, Request
from shrag.serving.retrieval.ranking import RetrievalResult
from shrag.serving.search_settings import Candidates
from shrag.serving.strategies.shrag import retrieve
from shrag.serving.strategy import Resources, StageTimer, choose_candidates

_Done = TypeVar("_Done")


@dataclass(frozen=True, slots=True)
class SubqueryResult(RetrievalResult):
    """What retrieval found for one question of a plan.

    ``model_events`` are the model's calls on the way and what was done without it.
    """

    question: Question
    model_events: tuple[Event, ...]

    def records(self, most: int) -> list[AnalyzedRecord]:
        """Return the best ``most`` records, in the order of the ranking."""
        records = {each.record.docid: each for each in self.candidates}
        return [records[ranked.record.docid] for ranked in self.ranking.records[:most]]

    def best(self, most: int) -> list[Record]:
        """Return those as they are shown."""
        return [analysed.record for analysed in self.records(most)]

    def looked_up(self, node: Node, query: str = "") -> Node:
        """Return ``node`` as it stands when this was found by ``query``, its question where that is not given."""
        docids = tuple(ranked.record.docid for ranked in self.ranking.records)
        return replace(node, query=query or node.question, docids=docids, state="answered" if docids else "unanswered")

    def only(self, records: Iterable[RankedRecord]) -> SubqueryResult:
        """Return it with those records of its ranking alone; their places are counted anew."""
        renumbered = tuple(replace(ranked, rank=rank) for rank, ranked in enumerate(records, 1))
        return replace(self, ranking=replace(self.ranking, records=renumbered))


def find(question: Question, request: Request, resources: Resources, own: Candidates = "lexical") -> SubqueryResult:
    """Search for ``question`` in place of the request's own, the rest of which holds.

    ``own`` is what the plan looks at where the request's settings leave that to it.
    """
    asked = request._replace(question=question)
    found, events = _drain(retrieve(asked, resources, choose_candidates(request, own), StageTimer()))
    return SubqueryResult(
        terms=found.terms,
        keywords=found.keywords,
        queries=found.queries,
        hits=found.hits,
        ranking=found.ranking,
        candidates=found.candidates,
        question=question,
        model_events=tuple(event for event in events if not isinstance(event, Keywords | Queries | Hits | Ranking)),
    )


def find_all(
    questions: Sequence[Question], request: Request, resources: Resources, own: Candidates = "lexical"
) -> list[SubqueryResult]:
    """Search for questions that do not depend on each other, side by side; in their order."""
    return parallel_map(lambda question: find(question, request, resources, own), questions)


def find_first(
    root: Node, request: Request, resources: Resources, timer: StageTimer
) -> Generator[Event, None, tuple[Node, SubqueryResult]]:
    """Search for the reader's own question, ``root``; return the updated ``root`` and what was found.

    Yields the events of the model calls and the updated ``root``.
    """
    with timer.stage("search"):
        found = find(request.question, request, resources)
    yield from found.model_events
    root = replace(root, query=root.question, docids=found.hits.candidates)
    yield root
    return root, found


def _drain(steps: Generator[Event, None, _Done]) -> tuple[_Done, list[Event]]:
    events: list[Event] = []
    while True:
        try:
            events.append(next(steps))
        except StopIteration as end:
            done: _Done = end.value
            return done, events


def question_key(text: str) -> str:
    """Return what questions that are asked once have in common; empty for what is no question.

    >>> question_key("Who is he?") == question_key("who IS he")
    True
    """
    return "".join(character for character in text.casefold() if character.isalnum())


class _Query(msgspec.Struct, frozen=True):
    query: Annotated[str, msgspec.Meta(min_length=1, max_length=300)]


def write_query(question: Question, model: RationedModel) -> tuple[Question, list[ModelCall]]:
    """Return what to search by for the answer to ``question``, itself where nothing readable came.

    Raises as :func:`~shrag.serving.llm.structured_call.ask` does.
    """
    step = PromptCall("query", "query", question.language, {"question": question.text}, max_tokens=128)
    made, calls = ask(model, step, _Query)
    return Question(plain_line(made.query) or question.text, question.language), calls
