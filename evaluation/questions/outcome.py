"""The outcome of one question: keywords, queries, candidates, ranks of the relevant records, answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from shrag.evaluation.measures.citations import citation_support
from shrag.indexing.search_engine import Hit
from shrag.serving.answering.formats import answer_text
from shrag.serving.events import Answer, Node
from shrag.serving.request import AnswerLanguage
from shrag.serving.results import AskResult, SearchResult

TOP_RECORDS = 5
"""Number of top-ranked docids that are stored for reports."""


class RelevantRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A relevant record and its rank, from 1; None if it was not ranked.

    ``candidate`` says whether it was a candidate. It is None in results that do not have it, which are older.
    """

    docid: str
    relevance: int
    rank: int | None
    candidate: bool | None = None


class AnswerRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An answer as it is stored with an outcome.

    Attributes:
        text: The text in the form of the ScienceON challenge.
        plain: The text without headings of parts.
        precision: Citation precision (:mod:`shrag.evaluation.measures.citations`); ``recall`` likewise.
        reason: Why the question was refused; empty if it was answered.
        cited: The docids of the cited records.
        choice: The letter of the choice that was made.
    """

    text: str
    plain: str
    language: AnswerLanguage
    kind: str
    model: str
    precision: float | None
    recall: float | None
    reason: str
    cited: tuple[str, ...]
    choice: str = ""


class QuestionOutcome(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The outcome of one question. It has no times, so it is the same in every run of the same identity.

    Attributes:
        error: Why the question could not be asked; empty if it was asked.
        reason: Why nothing was found; empty if something was found.
        keywords: The keywords, each with its first translation behind an arrow.
        queries: The keywords of each query.
        depth: The largest number of hits that a query asked for; 0 if no query was run.
        num_retrieved: Number of ranked records.
        relevant: The relevant records, by rank.
        top_docids: The first docids of the ranking.
        fallbacks: Stages done without the language model because it failed.
        confidence: The confidence that the first record answers; None if the strategy or the index has none.
        threshold: The confidence below which the index refuses.
        answer: The answer; None if there was only a search.
        nodes: The questions of a plan in their final states; empty without a plan.
    """

    qid: str
    error: str = ""
    reason: str = ""
    keywords: tuple[str, ...] = ()
    queries: tuple[tuple[str, ...], ...] = ()
    num_candidates: int = 0
    num_relevant_candidates: int = 0
    depth: int = 0
    num_retrieved: int = 0
    relevant: tuple[RelevantRecord, ...] = ()
    top_docids: tuple[str, ...] = ()
    fallbacks: tuple[str, ...] = ()
    confidence: float | None = None
    threshold: float | None = None
    answer: AnswerRecord | None = None
    nodes: tuple[Node, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether the question was refused or, if there was only a search, would be; False if it could not be asked."""
        if self.error:
            return False
        if self.answer is not None:
            return bool(self.answer.reason)
        if self.confidence is None or self.threshold is None:
            return not self.num_retrieved
        return self.confidence < self.threshold


class QuestionRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An outcome with its ranking (docid, score), the seconds of each stage, and the language model's tokens."""

    outcome: QuestionOutcome
    ranking: tuple[tuple[str, float], ...] = ()
    seconds: dict[str, float] = {}
    tokens: int = 0

    @property
    def hits(self) -> list[Hit]:
        """The ranking as hits."""
        return [Hit(docid, score) for docid, score in self.ranking]


def record_search(qid: str, result: SearchResult, judged: Mapping[str, int]) -> QuestionRecord:
    """Return the record of a search. ``judged`` is docid → relevance."""
    ranking = tuple((ranked.record.docid, ranked.score) for ranked in result.ranking.records)
    relevant = _relevant(judged, [docid for docid, _ in ranking], result.hits.candidates)
    confidence = result.ranking.confidence
    outcome = QuestionOutcome(
        qid=qid,
        reason=result.ranking.reason,
        keywords=tuple(
            keyword.text + (f" → {keyword.translations[0]}" if keyword.translations else "")
            for keyword in result.keywords.keywords
        ),
        queries=result.queries.queries,
        num_candidates=len(result.hits.candidates),
        num_relevant_candidates=sum(bool(each.candidate) for each in relevant),
        depth=result.hits.depth,
        num_retrieved=len(ranking),
        relevant=relevant,
        top_docids=tuple(docid for docid, _ in ranking[:TOP_RECORDS]),
        fallbacks=tuple(fallback.stage for fallback in result.fallbacks),
        nodes=result.nodes,
        confidence=confidence.value if confidence else None,
        threshold=confidence.threshold if confidence else None,
    )
    tokens = sum(call.prompt_tokens + call.completion_tokens for call in result.model_calls)
    return QuestionRecord(outcome, ranking, dict(result.timings.seconds), tokens)


def record_answer(qid: str, result: AskResult, judged: Mapping[str, int]) -> QuestionRecord:
    """Return the record of an answer and its search."""
    record = record_search(qid, result.search, judged)
    outcome = msgspec.structs.replace(record.outcome, answer=_answer_record(result.answer))
    return msgspec.structs.replace(record, outcome=outcome)


def record_ranking(qid: str, hits: Sequence[Hit], judged: Mapping[str, int]) -> QuestionRecord:
    """Return the record of a peer's ranking. Its candidates are the hits that it ranks."""
    docids = [hit.docid for hit in hits]
    relevant = _relevant(judged, docids, docids)
    outcome = QuestionOutcome(
        qid=qid,
        reason="" if hits else "nothing_found",
        num_candidates=len(docids),
        num_relevant_candidates=sum(bool(each.candidate) for each in relevant),
        num_retrieved=len(docids),
        relevant=relevant,
        top_docids=tuple(docids[:TOP_RECORDS]),
    )
    return QuestionRecord(outcome, tuple((hit.docid, hit.score) for hit in hits))


def record_error(qid: str, message: str, judged: Mapping[str, int]) -> QuestionRecord:
    """Return the record of a question that could not be asked."""
    return QuestionRecord(QuestionOutcome(qid, error=message, relevant=_relevant(judged, (), ())))


def _relevant(
    judged: Mapping[str, int], docids: Sequence[str], candidates: Iterable[str]
) -> tuple[RelevantRecord, ...]:
    """Return the relevant records: the ranked ones by rank, then the others by docid."""
    ranks, found = {docid: rank for rank, docid in enumerate(docids, 1)}, set(candidates)
    relevant = [
        RelevantRecord(docid, grade, ranks.get(docid), docid in found) for docid, grade in judged.items() if grade > 0
    ]
    return tuple(sorted(relevant, key=lambda each: (each.rank or len(docids) + 1, each.docid)))


def _answer_record(answer: Answer) -> AnswerRecord:
    support = citation_support(answer)
    return AnswerRecord(
        text=answer_text(answer, "scienceon"),
        plain=answer_text(answer, "plain"),
        language=answer.language,
        kind=answer.kind,
        model=answer.model,
        precision=support.precision,
        recall=support.recall,
        reason=answer.reason,
        cited=tuple(citation.docid for citation in answer.citations),
        choice=answer.choice,
    )
