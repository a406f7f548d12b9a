"""Candidates and their ranking: pooling, reciprocal rank fusion, re-ranking, each paper once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from shrag.corpora.records import Record
from shrag.indexing.analyzed_record import AnalyzedRecord, RecordStore, to_passage
from shrag.indexing.glossary.query_translation import AnalyzedQuestion
from shrag.indexing.lexical.reranker import LexicalReranker, QuestionReranker
from shrag.models.reranker import Reranker
from shrag.serving.events import RankedRecord
from shrag.serving.request import Request

RRF_K = 60
"""How slowly a rank loses weight; the value of the paper."""


class CandidateRecords(NamedTuple):
    """Records to rank, in their order, and the docids left out because their records are incomplete or missing."""

    records: list[AnalyzedRecord]
    incomplete: list[str]


def collect_candidates(
    docids: Sequence[str], store: RecordStore, limit: int | None = None, *, complete_only: bool = True
) -> CandidateRecords:
    """Fetch the records of ``docids`` in their order.

    Args:
        docids: Different docids, the best first.
        store: Where the records are.
        limit: Records to return at most; all where not given. Records beyond them are not read.
        complete_only: Whether to leave out records that cannot support an answer: without title or abstract.
    """
    candidates = CandidateRecords([], [])
    portion = limit or len(docids)
    for start in range(0, len(docids), portion or 1):
        wanted = docids[start : start + portion]
        for docid, record in zip(wanted, store.fetch(wanted), strict=True):
            if len(candidates.records) == portion:
                return candidates
            if record is None or (complete_only and not record.record.complete):
                candidates.incomplete.append(docid)
            else:
                candidates.records.append(record)
    return candidates


def reciprocal_rank_fusion(rankings: Sequence[Sequence[str]], rrf_k: int = RRF_K) -> list[tuple[str, float]]:
    """Return every document of the rankings with the sum of ``1 / (rrf_k + rank)`` over them, best first.

    Ranks count from 1. A document twice in one ranking counts where it first is, and those after it move up; ties go by
    docid. Source: Cormack, Clarke and Büttcher, *Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods*, SIGIR 2009.

    >>> [docid for docid, _ in reciprocal_rank_fusion([["a", "b", "b", "c"], ["c", "d"]])]
    ['c', 'a', 'b', 'd']
    """
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, docid in enumerate(dict.fromkeys(ranking), 1):
            scores[docid] = scores.get(docid, 0.0) + 1 / (rrf_k + rank)
    return sorted(scores.items(), key=lambda entry: (-entry[1], entry[0]))


class ScoredRecord(NamedTuple):
    """A record, its score, and its rank among the candidates before re-ranking, from 1."""

    record: AnalyzedRecord
    score: float
    candidate_rank: int


def bind_question(reranker: Reranker, question: AnalyzedQuestion) -> Reranker:
    """Return the re-ranker for one question: a lexical one uses its analysis, others read its text themselves."""
    if isinstance(reranker, LexicalReranker) and reranker.lexicon is question.lexicon:
        return QuestionReranker(question, reranker.parameters)
    return reranker


def rerank(text: str, candidates: Sequence[ScoredRecord], reranker: Reranker) -> list[ScoredRecord]:
    """Return the candidates with the re-ranker's scores for ``text``, best first, ties by docid.

    What the re-ranker scores minus infinity is left out.
    """
    scores = reranker.score(text, [to_passage(each.record) for each in candidates])
    shown = [
        ScoredRecord(each.record, score, each.candidate_rank)
        for each, score in zip(candidates, scores, strict=True)
        if score > -math.inf
    ]
    return sorted(shown, key=lambda each: (-each.score, each.record.record.docid))


def rank_records(scored: Iterable[ScoredRecord], request: Request) -> tuple[RankedRecord, ...]:
    """Return records, which come best first, as the ranking shows them: each paper once, as many as are wanted."""
    ranked = [
        RankedRecord(rank, each.candidate_rank, each.score, each.record.record) for rank, each in enumerate(scored, 1)
    ]
    return tuple(ranked[: request.k] if request.every_record else collapse_duplicates(ranked, request.k))


def collapse_duplicates(ranked: Iterable[RankedRecord], most: int | None = None) -> list[RankedRecord]:
    """Return the best record of each paper, best first, ranked anew, ``most`` at most; ``duplicates`` names its others.

    Those are the ones that are ranked too, in their order, and the first one of the paper in the corpus, which all
    others point to. The order in which they come is the order in which they are ranked.
    """
    papers: dict[str, list[RankedRecord]] = {}
    for each in ranked:
        papers.setdefault(_paper(each.record), []).append(each)
    return [
        RankedRecord(rank, each[0].candidate_rank, each[0].score, each[0].record, _others(paper, each))
        for rank, (paper, each) in enumerate(islice(papers.items(), most), 1)
    ]


def _paper(record: Record) -> str:
    return record.duplicate_of or record.docid


def _others(paper: str, ranked: list[RankedRecord]) -> tuple[str, ...]:
    if len(ranked) == 1 and ranked[0].record.docid == paper:
        return ()
    docids = dict.fromkeys([*(each.record.docid for each in ranked), paper])
    return tuple(docids)[1:]
