"""Run one sub-question through the retriever."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, TypeVar

import msgspec

from shrag.corpora.records import Record
from shrag.corpora.text.cleaning import plain_line
from shrag.indexing.analyzed_record import AnalysedRecord
from shrag.serving.concurrency import side_by_side
from shrag.serving.events import Event, Hits, Keywords, ModelCall, Node, Queries, RankedRecord, Ranking
from shrag.serving.llm.call_budget import RationedModel
from shrag.serving.llm.structured_call import Step, ask
from shrag.serving.question import Question
from shrag.serving.retrieval.query_terms import Word
from shrag.serving.retrieval.retriever import look_up
from shrag.serving.strategy import Candidates, Request, Resources
from shrag.serving.timing import Stopwatch

_Done = TypeVar("_Done")
_Kind = TypeVar("_Kind")


@dataclass(frozen=True, slots=True)
class Found:
    """What the single-hop way found for ``question``: its words, its events up to the ranking, and the pool.

    ``told`` are the model's calls on the way and what was done without it.
    """

    question: Question
    words: tuple[Word, ...]
    keywords: Keywords
    queries: Queries
    hits: Hits
    ranking: Ranking
    pool: tuple[AnalysedRecord, ...]
    told: tuple[Event, ...]

    def records(self, most: int) -> list[AnalysedRecord]:
        """Return the best ``most`` records, in the order of the ranking."""
        analysed = {each.record.docid: each for each in self.pool}
        return [analysed[ranked.record.docid] for ranked in self.ranking.records[:most]]

    def best(self, most: int) -> list[Record]:
        """Return those as they are shown."""
        return [analysed.record for analysed in self.records(most)]

    def looked_up(self, node: Node, query: str = "") -> Node:
        """Return ``node`` as it stands when this was found by ``query``, its question where that is not given."""
        docids = tuple(ranked.record.docid for ranked in self.ranking.records)
        return replace(node, query=query or node.question, docids=docids, state="answered" if docids else "unanswered")

    def only(self, records: Iterable[RankedRecord]) -> Found:
        """Return it with those records of its ranking alone; their places are counted anew."""
        renumbered = tuple(replace(ranked, rank=rank) for rank, ranked in enumerate(records, 1))
        return replace(self, ranking=replace(self.ranking, records=renumbered))


def find(question: Question, request: Request, resources: Resources, own: Candidates = "lexical") -> Found:
    """Search for ``question`` in place of the request's own, the rest of which holds.

    ``own`` is what the plan looks at where the request's settings leave that to it.
    """
    asked = request._replace(question=question)
    climbed, events = _drain(look_up(asked, resources, own, Stopwatch()))
    return Found(
        question=question,
        words=tuple(climbed.words),
        keywords=_first(Keywords, events),
        queries=_first(Queries, events),
        hits=_first(Hits, events),
        ranking=climbed.ranking,
        pool=tuple(climbed.pool),
        told=tuple(event for event in events if not isinstance(event, Keywords | Queries | Hits | Ranking)),
    )


def find_all(
    questions: Sequence[Question], request: Request, resources: Resources, own: Candidates = "lexical"
) -> list[Found]:
    """Search for questions that do not depend on each other, side by side; in their order."""
    return side_by_side(lambda question: find(question, request, resources, own), questions)


def find_first(
    root: Node, request: Request, resources: Resources, watch: Stopwatch
) -> Generator[Event, None, tuple[Node, Found]]:
    """Search for the reader's own question, ``root``; return it as it stands then, and what was found.

    What is told on the way is yielded, and ``root`` as it stands then.
    """
    with watch.stage("search"):
        found = find(request.question, request, resources)
    yield from found.told
    root = replace(root, query=root.question, docids=found.hits.pool)
    yield root
    return root, found


def _first(kind: type[_Kind], events: Sequence[Event]) -> _Kind:
    return next(event for event in events if isinstance(event, kind))


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
    step = Step("query", "query", question.language, {"question": question.text}, max_tokens=128)
    made, calls = ask(model, step, _Query)
    return Question(plain_line(made.query) or question.text, question.language), calls
