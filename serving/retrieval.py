"""From queries to an answer: what strategies share once they have decided what to ask."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from shrag.indexing.analysed import AnalysedRecord, as_passage
from shrag.indexing.engine import Hit
from shrag.indexing.opening import OpenIndex
from shrag.indexing.query import Query
from shrag.models.errors import ModelError
from shrag.models.language_model import LanguageModel
from shrag.models.reranker import Reranker
from shrag.serving.choices import choose_by_words
from shrag.serving.choosing import choose_by_model
from shrag.serving.citations import check_quotes
from shrag.serving.events import (
    Answer,
    AnswerSentence,
    Event,
    Found,
    Hits,
    RankedRecord,
    Ranking,
    Reason,
    Timings,
)
from shrag.serving.extractive import EVIDENCE, extract_answer
from shrag.serving.fallback import attempt, fallen_back
from shrag.serving.fusion import reciprocal_ranks
from shrag.serving.generated import Work, generate_answer, recall_answer
from shrag.serving.papers import show_once
from shrag.serving.pool_order import PoolOrder
from shrag.serving.question import Question
from shrag.serving.stopwatch import Stopwatch
from shrag.serving.strategy import Request, Resources
from shrag.serving.words import Word


class DenseHits(NamedTuple):
    """What vectors found, best first, and by which encoder."""

    hits: Sequence[Hit]
    encoder: str
    is_model: bool


def collect(
    queries: Sequence[Query], index: OpenIndex, depth: int, *, complete_only: bool, dense: DenseHits | None = None
) -> tuple[Hits, list[AnalysedRecord]]:
    """Run the queries, ``depth`` hits each; return what they found, and the pool's records in the pool's order.

    The pool is the union of all hits, in the order in which the queries first found them, each record once; where
    there are ``dense`` hits, that order and theirs are fused by reciprocal ranks. With ``complete_only``, records that
    cannot support an answer (a scholarly one without title or abstract) are left out of it, by name.
    """
    found = index.engine.search(queries, depth) if queries else []
    docids = list(dict.fromkeys(hit.docid for hits in found for hit in hits))
    near = dense.hits if dense else []
    if near:
        docids = [docid for docid, _ in reciprocal_ranks([docids, [hit.docid for hit in near]])]
    records = [analysed for analysed in index.store.fetch(docids) if analysed is not None]
    pool = [analysed for analysed in records if analysed.record.complete or not complete_only]
    kept = {analysed.record.docid: None for analysed in pool}
    hits = Hits(
        hits=tuple(tuple(Found(hit.docid, hit.score) for hit in hits) for hits in found),
        pool=tuple(kept),
        left_out=tuple(docid for docid in docids if docid not in kept),
        dense=tuple(Found(hit.docid, hit.score) for hit in near),
        encoder=dense.encoder if dense else "",
        encoder_is_model=dense.is_model if dense else False,
    )
    return hits, pool


def rerank(request: Request, pool: Sequence[AnalysedRecord], reranker: Reranker, reason: Reason) -> Ranking:
    """Return the pool's best ``request.k`` records by the re-ranker's scores, ties by docid, each paper once.

    What the re-ranker gives minus infinity is left out. Where the request's settings want no re-ranking, the pool stays
    in its order.
    """
    reranker = reranker if request.settings.rerank else PoolOrder()
    scores = reranker.score(request.question.text, [as_passage(analysed) for analysed in pool])
    shown = [place for place in range(len(pool)) if scores[place] > -math.inf]
    order = sorted(shown, key=lambda place: (-scores[place], pool[place].record.docid))
    ranked = [RankedRecord(rank, place + 1, scores[place], pool[place].record) for rank, place in enumerate(order, 1)]
    return Ranking(
        records=tuple(ranked[: request.k] if request.every_record else show_once(ranked, request.k)),
        reranker=reranker.name,
        reranker_is_model=reranker.is_model,
        reason=reason if reason or shown else "nothing_fits",
    )


def finish(
    request: Request,
    words: Sequence[Word],
    ranking: Ranking,
    pool: Sequence[AnalysedRecord],
    resources: Resources,
    watch: Stopwatch,
    notes: str = "",
) -> Iterator[Event]:
    """Yield the answer's events, if one is wanted, and the timings. ``pool`` holds the records ranked.

    ``notes`` are what a strategy that works a question out in steps tells the model that writes the answer.
    """
    if request.answered:
        yield from watch.over("answer", _answer(request.question, words, ranking, pool, resources, notes))
    yield Timings(watch.seconds)


def finish_unaided(request: Request, resources: Resources, watch: Stopwatch, notes: str = "") -> Iterator[Event]:
    """Yield likewise the answer of a language model that is shown no record, and the timings.

    Where it gives none, neither is there one without it.
    """
    if request.answered:
        yield from watch.over("answer", _recalled(request.question, resources, notes))
    yield Timings(watch.seconds)


def _answer(
    question: Question,
    words: Sequence[Word],
    ranking: Ranking,
    pool: Sequence[AnalysedRecord],
    resources: Resources,
    notes: str,
) -> Generator[Event, None, None]:
    """Answer from the best complete records, by the model where there is one and it can."""
    if ranking.reason:
        yield Answer("extractive", question.language, (), (), ranking.reason)
        return
    analysed = {each.record.docid: each for each in pool}
    best = [analysed[ranked.record.docid] for ranked in ranking.records if ranked.record.complete][:EVIDENCE]
    choice = ""
    if resources.model is not None and best:
        choice = yield from _choose(question, best, notes, resources.model)
        try:
            yield from generate_answer(question, best, resources.index, resources.model, Work(notes, choice))
        except ModelError as error:
            yield from fallen_back("answer", error)
        else:
            return
    answer = check_quotes(extract_answer(question, words, best), [each.record for each in best])
    if question.choices:
        choice = choice or choose_by_words(question.text, question.choices, answer, resources.index)
        answer = replace(answer, choice=choice)
    for section in answer.sections:
        for sentence in section.sentences:
            yield AnswerSentence(section.part, sentence)
    yield answer


def _recalled(question: Question, resources: Resources, notes: str) -> Generator[Event, None, None]:
    choice = ""
    if resources.model is not None:
        choice = yield from _choose(question, [], notes, resources.model)
        try:
            yield from recall_answer(question, resources.model, Work(notes, choice))
        except ModelError as error:
            yield from fallen_back("answer", error)
        else:
            return
    yield Answer("unaided", question.language, (), (), "not_searched", choice=choice)


def _choose(
    question: Question, best: Sequence[AnalysedRecord], notes: str, model: LanguageModel
) -> Generator[Event, None, str]:
    """Return the letter of the model's choice, empty where the question has none or the model fails."""
    if not question.choices:
        return ""
    records = [each.record for each in best]
    choice, told = attempt("answer", lambda: choose_by_model(question, records, notes or "–", model))
    yield from told
    return choice or ""
