"""The answer from a ranking: by a language model where there is one and it can, else extractive."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from shrag.corpora.records import Record
from shrag.models.errors import ModelError
from shrag.models.language_model import LanguageModel
from shrag.serving.answering.citations import verify_quotes
from shrag.serving.answering.extractive import EVIDENCE, extract_answer
from shrag.serving.answering.generative import generate_answer, generate_closed_book
from shrag.serving.answering.multiple_choice import choose_by_model, choose_by_words
from shrag.serving.events import Answer, AnswerSentence, Event, Timings
from shrag.serving.llm.request_model import attempt, fallback_events
from shrag.serving.request import Question, Request
from shrag.serving.retrieval.ranking import RetrievalResult
from shrag.serving.strategy import Resources


@dataclass(slots=True)
class StageTimer:
    """Adds up the seconds of named stages; ``seconds`` has them in the order in which the stages first ended."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time that the block takes to the stage ``name``."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.add(name, time.perf_counter() - started)

    def add(self, name: str, seconds: float) -> None:
        """Add ``seconds``, measured elsewhere, to the stage ``name``."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds


def answer(
    request: Request, found: RetrievalResult, resources: Resources, timer: StageTimer, notes: str = ""
) -> Iterator[Event]:
    """Yield the answer's events, if one is wanted, and the timings, which end every stream.

    ``timer`` has the time of the stages so far; ``notes`` is what a strategy worked out, for the model that writes the
    answer.
    """
    if request.answered:
        yield from _timed(timer, _answer(request.question, found, resources, notes))
    yield Timings(timer.seconds)


def answer_closed_book(request: Request, resources: Resources, timer: StageTimer, notes: str = "") -> Iterator[Event]:
    """Yield the same for the answer of a model without records; where it fails, the answer is a refusal."""
    if request.answered:
        yield from _timed(timer, _answer_closed_book(request.question, resources.model, notes))
    yield Timings(timer.seconds)


def _timed(timer: StageTimer, events: Generator[Event, None, None]) -> Iterator[Event]:
    """Yield the events, timing how long each takes to come; what the caller does between two does not count."""
    with closing(events):
        while True:
            with timer.stage("answer"):
                event = next(events, None)
            if event is None:
                return
            yield event


def _answer(
    question: Question, found: RetrievalResult, resources: Resources, notes: str
) -> Generator[Event, None, None]:
    """Answer from the best complete records."""
    if found.ranking.reason:
        yield Answer("extractive", question.language, (), (), found.ranking.reason)
        return
    analyzed = {each.record.docid: each for each in found.candidates}
    records = [ranked.record for ranked in found.ranking.records if ranked.record.complete][:EVIDENCE]
    evidence = [analyzed[record.docid] for record in records]
    choice = ""
    if resources.model is not None and evidence:
        choice = yield from _choose(question, records, notes, resources.model)
        try:
            yield from generate_answer(question, evidence, resources.index, resources.model, notes, choice)
        except ModelError as error:
            yield from fallback_events("answer", error)
        else:
            return
    extracted = verify_quotes(extract_answer(question, found.terms, evidence), records)
    if question.choices:
        extracted = replace(extracted, choice=choice or choose_by_words(question, extracted, resources.index))
    for section in extracted.sections:
        for sentence in section.sentences:
            yield AnswerSentence(section.part, sentence)
    yield extracted


def _answer_closed_book(question: Question, model: LanguageModel | None, notes: str) -> Generator[Event, None, None]:
    choice = ""
    if model is not None:
        choice = yield from _choose(question, [], notes, model)
        try:
            yield from generate_closed_book(question, model, notes, choice)
        except ModelError as error:
            yield from fallback_events("answer", error)
        else:
            return
    yield Answer("closed_book", question.language, (), (), "not_searched", choice=choice)


def _choose(
    question: Question, records: Sequence[Record], notes: str, model: LanguageModel
) -> Generator[Event, None, str]:
    """Return the letter of the model's choice, empty where the question has no choices or the model fails."""
    if not question.choices:
        return ""
    choice, events = attempt("answer", model, partial(choose_by_model, question, records, notes or "–"))
    yield from events
    return choice or ""
