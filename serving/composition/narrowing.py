"""The stages behind the one list of records: they score it, cut it, and let what scores too little go."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from shrag.indexing.analysed import AnalysedRecord, as_passage
from shrag.serving.composition.calibration import calibrate
from shrag.serving.composition.finders import Pool
from shrag.serving.composition.stages import Stage
from shrag.serving.composition.temporary_answer import answer_by_model, answer_by_sentences, with_answer
from shrag.serving.events import Event, Node, RankedRecord, Ranking, Reason
from shrag.serving.fallback import attempt
from shrag.serving.papers import show_once
from shrag.serving.planning.rationed_model import RationedModel
from shrag.serving.strategy import Request, Resources
from shrag.serving.words import Word


class _Scored(NamedTuple):
    """A record, its score, and its place in the pool, from 1."""

    record: AnalysedRecord
    score: float
    place: int


class Narrowing:
    """One question's list of records, best first, and what was done to it so far.

    ``answer`` is the temporary answer, empty where there is none.
    """

    def __init__(
        self, request: Request, resources: Resources, words: Sequence[Word], pool: Pool, ordered_by: str
    ) -> None:
        self._request = request
        self._resources = resources
        self._words = words
        self._list = [
            _Scored(record, score, place)
            for place, (record, score) in enumerate(zip(pool.records, pool.scores, strict=True), 1)
        ]
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
        reranker = self._resources.reranker
        ranked = [
            RankedRecord(rank, each.place, each.score, each.record.record) for rank, each in enumerate(self._list, 1)
        ]
        shown = ranked if self._request.every_record else show_once(ranked)
        return Ranking(
            records=tuple(shown[: self._request.k]),
            reranker=self._ordered_by,
            reranker_is_model=self._by_reranker and reranker.is_model,
            reason="" if ranked else "nothing_fits" if self._found else reason,
        )

    def _rerank(self, text: str, most: int) -> None:
        """Keep the ``most`` records that score highest for ``text``, ties by docid; none that is not to be shown."""
        reranker = self._resources.reranker
        scores = reranker.score(text, [as_passage(each.record) for each in self._list])
        shown = [
            each._replace(score=score) for each, score in zip(self._list, scores, strict=True) if score > -math.inf
        ]
        shown.sort(key=lambda each: (-each.score, each.record.record.docid))
        self._list = shown[:most]
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
        self.answer = answer if answer is not None else answer_by_sentences(question, self._words, pool)
        docids = tuple(each.record.docid for each in pool)
        node = Node(0, None, "question", question.text, query=question.text, docids=docids, answer=self.answer)
        return [*told, node]
