"""rerank, temp_answer, answer_rerank and filter stages.

Records are then ranked by the question and this answer together; the answer that is given is made from those.
"""

from __future__ import annotations

from collections.abc import Sequence

from shrag.corpora.text.cleaning import plain_line
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.glossary.query_translation import AnalyzedQuestion
from shrag.serving.answering.extractive import EVIDENCE, extract_answer
from shrag.serving.events import Event, ModelCall, Node, Ranking, Reason
from shrag.serving.llm.call_budget import RationedModel
from shrag.serving.llm.request_model import attempt
from shrag.serving.request import LONGEST_QUESTION, Question, Request
from shrag.serving.retrieval.query_terms import QueryTerm
from shrag.serving.retrieval.ranking import bind_question, rank_records, rerank
from shrag.serving.strategies.pipeline.calibration import calibrate
from shrag.serving.strategies.pipeline.retrieval import Pool
from shrag.serving.strategies.pipeline.syntax import Stage
from shrag.serving.strategies.planning.sub_answers import LONGEST_RESPONSE, respond
from shrag.serving.strategy import Resources


def answer_by_model(
    question: Question, pool: Sequence[AnalyzedRecord], model: RationedModel
) -> tuple[str, list[ModelCall]]:
    """Return what a model answers from the best of ``pool``, empty where they do not answer; raises as :func:`ask`."""
    response, calls = respond(question, [analysed.record for analysed in pool[:EVIDENCE]], model)
    return response.text, calls


def answer_by_sentences(question: Question, words: Sequence[QueryTerm], pool: Sequence[AnalyzedRecord]) -> str:
    """Return one sentence of the best record that fits the question, as the extractive answer has it, or nothing.

    One, since a record that words one sentence of a long answer says little of the rest: of the first 80 questions of
    ``python -m bench.quality.pipelines``, ``retrieve(50) > temp_answer > answer_rerank(10)`` ranked with nDCG@10 0.660
    on multihop-en and 0.956 on wiki-ko; with the whole body of the answer 0.586 and 0.846.
    """
    for analysed in pool[:EVIDENCE]:
        for section in extract_answer(question, words, [analysed]).sections:
            if section.part == "body":
                return plain_line(section.sentences[0].text)[:LONGEST_RESPONSE]
    return ""


def with_answer(question: Question, answer: str) -> str:
    """Return the question and the answer as the one text that records are scored for."""
    return f"{question.text} {answer}".strip()[: LONGEST_QUESTION + LONGEST_RESPONSE]


class Narrowing:
    """One question's list of records, best first, and what was done to it so far.

    ``answer`` is the temporary answer, empty where there is none.
    """

    def __init__(
        self,
        request: Request,
        resources: Resources,
        question: AnalyzedQuestion,
        terms: Sequence[QueryTerm],
        pool: Pool,
        ordered_by: str,
    ) -> None:
        self._request = request
        self._resources = resources
        self._question = question
        self._terms = terms
        self._list = pool.candidates
        self._found = bool(self._list)
        self._ordered_by = ordered_by
        self._by_reranker = False
        self._scored_for = request.question.text
        self.answer = ""

    def do(self, stage: Stage, model: RationedModel | None) -> list[Event]:
        """Do one stage; return what is to be told of it."""
        if stage.name == "temp_answer":
            return self._answer_for_now(model)
        if stage.name == "filter" and isinstance(stage.argument, float):
            self._filter(stage.argument)
        elif isinstance(stage.argument, int):
            text = self._request.question.text
            if stage.name == "answer_rerank":
                text = with_answer(self._request.question, self.answer)
            self._rerank(text, stage.argument)
        return []

    def ranking(self, reason: Reason) -> Ranking:
        """Return the list as it stands, each paper once, at most as many as are wanted.

        ``reason`` is why nothing was found, where nothing was.
        """
        return Ranking(
            records=rank_records(self._list, self._request),
            reranker=self._ordered_by,
            reranker_is_model=self._by_reranker and self._resources.reranker.is_model,
            reason="" if self._list else "nothing_fits" if self._found else reason,
        )

    def _rerank(self, text: str, most: int) -> None:
        """Keep the ``most`` records that score highest for ``text``; none that is not to be shown."""
        reranker = self._resources.reranker
        if text == self._question.text:
            reranker = bind_question(reranker, self._question)
        self._list = rerank(text, self._list, reranker)[:most]
        self._scored_for, self._ordered_by, self._by_reranker = text, reranker.name, True

    def _filter(self, least: float) -> None:
        """Keep the records whose calibrated score is above ``least``, with that score."""
        if not self._list:
            return
        calibration = calibrate(self._resources.reranker, self._resources.index)
        values = calibration.values(self._scored_for, [each.score for each in self._list])
        self._list = [
            each._replace(score=value) for each, value in zip(self._list, values, strict=True) if value > least
        ]
        self._ordered_by = f"{self._ordered_by}, calibrated > {least:g}"

    def _answer_for_now(self, model: RationedModel | None) -> list[Event]:
        question = self._request.question
        pool = [each.record for each in self._list]
        answer, told = None, list[Event]()
        if model is not None:
            answer, told = attempt("step", lambda: answer_by_model(question, pool, model))
        self.answer = answer if answer is not None else answer_by_sentences(question, self._terms, pool)
        docids = tuple(each.record.docid for each in pool)
        node = Node(0, None, "question", question.text, query=question.text, docids=docids, answer=self.answer)
        return [*told, node]
