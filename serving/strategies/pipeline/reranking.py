"""The stages rerank, temp_answer, answer_rerank and filter, which work on one ranked list of records."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from shrag.corpora.text.cleaning import plain_line
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.translation.query_translation import AnalyzedQuestion
from shrag.indexing.vectors.hybrid_reranker import HybridReranker
from shrag.serving.answering.extractive import EVIDENCE, sentence_that_answers
from shrag.serving.events import EmptyReason, Event, Node, Ranking
from shrag.serving.llm.request_model import attempt
from shrag.serving.request import LONGEST_QUESTION, Question, Request
from shrag.serving.retrieval.query_terms import QueryTerm
from shrag.serving.retrieval.ranking import bind_question, has_more, rank_records, rerank
from shrag.serving.strategies.pipeline.calibration import calibrate
from shrag.serving.strategies.pipeline.retrieval import FusedHits
from shrag.serving.strategies.pipeline.syntax import Stage
from shrag.serving.strategies.planning.sub_answers import LONGEST_RESPONSE, respond
from shrag.serving.strategy import Resources


class RankedList:
    """The ranked records of one question, which the stages of its pipeline change.

    The list begins with the candidates of ``fused``; ``ordered_by`` names what these are ranked by. ``answer`` is the
    temporary answer, empty if there is none.
    """

    def __init__(
        self,
        request: Request,
        resources: Resources,
        question: AnalyzedQuestion,
        terms: Sequence[QueryTerm],
        fused: FusedHits,
        ordered_by: str,
    ) -> None:
        self._request = request
        self._resources = resources
        # Words have their own stage in a pipeline, and its filter needs scores that depend on no other candidate.
        reranker = resources.reranker
        self._reranker = reranker.vectors if isinstance(reranker, HybridReranker) else reranker
        self._question = question
        self._terms = terms
        self._records = fused.candidates
        self._found = bool(fused.candidates)
        self._ordered_by = ordered_by
        self._by_reranker = False
        self._scored_for = request.question.text
        self.answer = ""

    def apply(self, stage: Stage) -> list[Event]:
        """Apply a stage; return its events."""
        if stage.name == "temp_answer":
            return self._write_temporary_answer()
        if stage.name == "filter" and isinstance(stage.argument, float):
            self._filter(stage.argument)
        elif isinstance(stage.argument, int):
            text = self._request.question.text
            if stage.name == "answer_rerank":
                text = f"{text} {self.answer}".strip()[: LONGEST_QUESTION + LONGEST_RESPONSE]
            self._rerank(text, stage.argument)
        return []

    def ranking(self, reason: EmptyReason) -> Ranking:
        """Return the list as a ranking; ``reason`` says why the search found nothing, if it found nothing."""
        ranked = rank_records(self._records, self._request)
        return Ranking(
            records=ranked,
            reranker=self._ordered_by,
            reranker_is_model=self._by_reranker and self._reranker.is_model,
            reason="" if self._records else "nothing_fits" if self._found else reason,
            more=has_more(self._records, ranked, self._request),
        )

    def _rerank(self, text: str, most: int) -> None:
        """Keep the ``most`` records that score highest for ``text``."""
        reranker = self._reranker
        if text == self._question.text:
            reranker = bind_question(reranker, self._question, self._resources.index)
        self._records = rerank(text, self._records, reranker)[:most]
        self._scored_for, self._ordered_by, self._by_reranker = text, reranker.name, True

    def _filter(self, least: float) -> None:
        """Keep the records whose calibrated score is above ``least``, with that score."""
        if not self._records:
            return
        calibration = calibrate(self._reranker, self._resources.index)
        values = calibration.values(self._scored_for, [each.score for each in self._records])
        self._records = [
            each._replace(score=value) for each, value in zip(self._records, values, strict=True) if value > least
        ]
        self._ordered_by = f"{self._ordered_by}, calibrated > {least:g}"

    def _write_temporary_answer(self) -> list[Event]:
        question = self._request.question
        records = [each.record for each in self._records]
        evidence = [analyzed.record for analyzed in records[:EVIDENCE]]
        response, events = attempt("step", self._resources.model, partial(respond, question, evidence))
        self.answer = response.text if response is not None else best_sentence(question, self._terms, records)
        docids = tuple(each.record.docid for each in records)
        node = Node(0, None, "question", question.text, query=question.text, docids=docids, answer=self.answer)
        return [*events, node]


def best_sentence(question: Question, words: Sequence[QueryTerm], records: Sequence[AnalyzedRecord]) -> str:
    """Return one sentence of the best record that answers the question by its words; empty without one.

    Re-ranking by a longer answer is worse, since a record that matches one of its sentences says little
    about the rest. nDCG@10 of ``retrieve(50) > temp_answer > answer_rerank(10)`` for the first 80 questions of
    ``python -m bench.quality.pipelines``:

    - one sentence: 0.660 on multihop-en, 0.956 on wiki-ko;
    - the whole body of the answer: 0.586 and 0.846.
    """
    for analyzed in records[:EVIDENCE]:
        if sentence := sentence_that_answers(question, words, analyzed):
            return plain_line(sentence)[:LONGEST_RESPONSE]
    return ""
