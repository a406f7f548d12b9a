"""One question of a plan, searched for as a question of its own would be, its events kept instead of told."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from shrag.indexing.analysed import AnalysedRecord
from shrag.indexing.dense_index import DenseIndex
from shrag.serving.climb import DEPTH, make_queries
from shrag.serving.events import Event, Hits, Keywords, Queries, Ranking
from shrag.serving.keyword_step import choose_keywords
from shrag.serving.question import Question
from shrag.serving.retrieval import DenseHits, collect, rerank
from shrag.serving.stopwatch import Stopwatch
from shrag.serving.strategy import Request, Resources
from shrag.serving.words import Word, why_nothing

_Done = TypeVar("_Done")

_AT_ONCE = 4


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


def find(question: Question, request: Request, resources: Resources, dense: DenseIndex | None = None) -> Found:
    """Search for ``question`` in place of the request's own, the rest of which holds.

    With ``dense`` vectors what is near it counts as well, and is fused with what its words find.
    """
    asked = request._replace(question=question)
    chosen, events = _drain(choose_keywords(asked, resources, Stopwatch()))
    told, queries = make_queries(chosen, question.language, request.settings)
    depth = max(DEPTH, request.k)
    near = _near(question.text, dense, depth) if dense is not None else None
    hits, pool = collect(queries, resources.index, depth, complete_only=True, dense=near)
    ranking = rerank(asked, pool, resources.reranker, "" if pool else why_nothing(chosen.words))
    return Found(
        question=question,
        words=tuple(chosen.words),
        keywords=next(event for event in events if isinstance(event, Keywords)),
        queries=told,
        hits=hits,
        ranking=ranking,
        pool=tuple(pool),
        told=tuple(event for event in events if not isinstance(event, Keywords)),
    )


def find_all(
    questions: Sequence[Question], request: Request, resources: Resources, dense: DenseIndex | None = None
) -> list[Found]:
    """Search for questions that do not depend on each other, side by side; in their order."""
    if len(questions) < 2:
        return [find(question, request, resources, dense) for question in questions]
    with ThreadPoolExecutor(min(_AT_ONCE, len(questions)), thread_name_prefix="plan") as workers:
        return list(workers.map(lambda question: find(question, request, resources, dense), questions))


def _near(text: str, dense: DenseIndex, depth: int) -> DenseHits:
    return DenseHits(dense.search(dense.encode(text), depth), dense.encoder.name, dense.encoder.is_model)


def _drain(steps: Generator[Event, None, _Done]) -> tuple[_Done, list[Event]]:
    events: list[Event] = []
    while True:
        try:
            events.append(next(steps))
        except StopIteration as end:
            done: _Done = end.value
            return done, events
