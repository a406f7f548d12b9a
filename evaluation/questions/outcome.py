"""Outcome of one question: keywords, queries, candidates, ranks of relevant records, answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from shrag.evaluation.measures.citations import citation_support
from shrag.indexing.search_engine import Hit
from shrag.serving.answering.formats import answer_text
from shrag.serving.events import Answer
from shrag.serving.request import AnswerLanguage
from shrag.serving.results import AskResult, SearchResult

SHOWN = 5
"""Records at the top of a ranking that a report names."""


class Relevant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A relevant record and its rank from 1, None where it was not ranked."""

    docid: str
    relevance: int
    rank: int | None


class GivenAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An answer as text, who wrote it, how far its citations hold, and why there is none if so.

    ``plain`` is the text without headings and numbers; ``precision`` the share of its citations that held, ``recall``
    that of its sentences, None where there is none. ``choice`` is the letter of the choice that was made, if one was.
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


class Outcome(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a part's questions. It holds nothing that differs between two runs of the same: no time.

    ``error`` says why the question could not be asked, empty where it was. ``collected`` counts the pool,
    ``relevant_collected`` those of it judged relevant, ``found`` the records ranked. ``fallbacks`` names the stages
    that were done without the language model because it failed. ``top`` are the first docids of the ranking.
    """

    qid: str
    error: str = ""
    reason: str = ""
    keywords: tuple[str, ...] = ()
    queries: tuple[tuple[str, ...], ...] = ()
    collected: int = 0
    relevant_collected: int = 0
    found: int = 0
    relevant: tuple[Relevant, ...] = ()
    top: tuple[str, ...] = ()
    fallbacks: tuple[str, ...] = ()
    answer: GivenAnswer | None = None


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question's outcome, its ranking (docid, score), the seconds of each stage and the model's tokens."""

    outcome: Outcome
    ranking: tuple[tuple[str, float], ...] = ()
    seconds: dict[str, float] = {}
    tokens: int = 0

    @property
    def hits(self) -> list[Hit]:
        """The ranking as a run has it."""
        return [Hit(docid, score) for docid, score in self.ranking]


def searched(qid: str, result: SearchResult, judged: Mapping[str, int]) -> Asked:
    """Return what a search came to; ``judged`` is the relevance of each judged record."""
    ranking = tuple((ranked.record.docid, ranked.score) for ranked in result.ranking.records)
    relevant = _relevant(judged, [docid for docid, _ in ranking])
    outcome = Outcome(
        qid=qid,
        reason=result.ranking.reason,
        keywords=tuple(
            keyword.text + (f" → {keyword.carried[0]}" if keyword.carried else "")
            for keyword in result.keywords.keywords
        ),
        queries=result.queries.queries,
        collected=len(result.hits.pool),
        relevant_collected=len({each.docid for each in relevant} & set(result.hits.pool)),
        found=len(ranking),
        relevant=relevant,
        top=tuple(docid for docid, _ in ranking[:SHOWN]),
        fallbacks=tuple(fallback.stage for fallback in result.fallbacks),
    )
    tokens = sum(call.prompt_tokens + call.completion_tokens for call in result.model_calls)
    return Asked(outcome, ranking, dict(result.timings.seconds), tokens)


def answered(qid: str, result: AskResult, judged: Mapping[str, int]) -> Asked:
    """Return what an answer came to, with the search it was made from."""
    asked = searched(qid, result.search, judged)
    outcome = msgspec.structs.replace(asked.outcome, answer=_given(result.answer))
    return msgspec.structs.replace(asked, outcome=outcome)


def ranked(qid: str, hits: Sequence[Hit], judged: Mapping[str, int]) -> Asked:
    """Return what a peer's ranking came to: all that it ranks is what it collected."""
    docids = [hit.docid for hit in hits]
    relevant = _relevant(judged, docids)
    outcome = Outcome(
        qid=qid,
        reason="" if hits else "nothing_found",
        collected=len(docids),
        relevant_collected=sum(each.rank is not None for each in relevant),
        found=len(docids),
        relevant=relevant,
        top=tuple(docids[:SHOWN]),
    )
    return Asked(outcome, tuple((hit.docid, hit.score) for hit in hits))


def refused(qid: str, message: str, judged: Mapping[str, int]) -> Asked:
    """Return the outcome of a question that could not be asked: nothing found, and why."""
    return Asked(Outcome(qid, error=message, relevant=_relevant(judged, ())))


def _relevant(judged: Mapping[str, int], docids: Sequence[str]) -> tuple[Relevant, ...]:
    """Return the relevant records: those ranked by rank, then the others by docid."""
    ranks = {docid: rank for rank, docid in enumerate(docids, 1)}
    relevant = [Relevant(docid, grade, ranks.get(docid)) for docid, grade in judged.items() if grade > 0]
    return tuple(sorted(relevant, key=lambda each: (each.rank or len(docids) + 1, each.docid)))


def _given(answer: Answer) -> GivenAnswer:
    cited = {number for section in answer.sections for sentence in section.sentences for number in sentence.citations}
    support = citation_support(answer)
    return GivenAnswer(
        text=answer_text(answer),
        plain=answer_text(answer, "plain"),
        language=answer.language,
        kind=answer.kind,
        model=answer.model,
        precision=support.precision,
        recall=support.recall,
        reason=answer.reason,
        cited=tuple(citation.docid for citation in answer.citations if citation.number in cited),
        choice=answer.choice,
    )
