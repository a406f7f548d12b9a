"""Answer from a ranking: by a language model where there is one and it can, else by sentences of the records."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.models.errors import ModelError
from shrag.models.language_model import LanguageModel
from shrag.serving.answering.citations import check_quotes
from shrag.serving.answering.extractive import EVIDENCE, extract_answer
from shrag.serving.answering.generative import AnswerNotes, generate_answer, recall_answer
from shrag.serving.answering.multiple_choice import choose_by_model, choose_by_words
from shrag.serving.events import Answer, AnswerSentence, Event, Timings
from shrag.serving.llm.request_model import attempt, fallback_events
from shrag.serving.request import Question, Request
from shrag.serving.retrieval.ranking import RetrievalResult
from shrag.serving.strategy import Resources, StageTimer


def answer(
    request: Request, found: RetrievalResult, resources: Resources, timer: StageTimer, notes: str = ""
) -> Iterator[Event]:
    """Yield the answer's events, if one is wanted, and the timings, which end every stream.

    Args:
        request: The request.
        found: The ranking to answer from, the records of the candidates, and the question's words.
        resources: The index and the model, if any.
        timer: Has the time of the stages so far.
        notes: What a strategy that works a question out in steps tells the model that writes the answer.
    """
    if request.answered:
        yield from _timed(timer, _answer(request.question, found, resources, notes))
    yield Timings(timer.seconds)


def answer_closed_book(request: Request, resources: Resources, timer: StageTimer, notes: str = "") -> Iterator[Event]:
    """Yield likewise the answer of a language model that is shown no record, and the timings.

    Where it gives none, there is no answer without it either.
    """
    if request.answered:
        yield from _timed(timer, _answer_closed_book(request.question, resources, notes))
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
    records = {each.record.docid: each for each in found.candidates}
    complete = [ranked.record.docid for ranked in found.ranking.records if ranked.record.complete]
    evidence = [records[docid] for docid in complete[:EVIDENCE]]
    choice = ""
    if resources.model is not None and evidence:
        choice = yield from _choose(question, evidence, notes, resources.model)
        try:
            yield from generate_answer(question, evidence, resources.index, resources.model, AnswerNotes(notes, choice))
        except ModelError as error:
            yield from fallback_events("answer", error)
        else:
            return
    extracted = extract_answer(question, found.terms, evidence)
    made = check_quotes(extracted, [each.record for each in evidence])
    if question.choices:
        choice = choice or choose_by_words(question, made, resources.index)
        made = replace(made, choice=choice)
    for section in made.sections:
        for sentence in section.sentences:
            yield AnswerSentence(section.part, sentence)
    yield made


def _answer_closed_book(question: Question, resources: Resources, notes: str) -> Generator[Event, None, None]:
    choice = ""
    if resources.model is not None:
        choice = yield from _choose(question, [], notes, resources.model)
        try:
            yield from recall_answer(question, resources.model, AnswerNotes(notes, choice))
        except ModelError as error:
            yield from fallback_events("answer", error)
        else:
            return
    yield Answer("closed_book", question.language, (), (), "not_searched", choice=choice)


def _choose(
    question: Question, evidence: Sequence[AnalyzedRecord], notes: str, model: LanguageModel
) -> Generator[Event, None, str]:
    """Return the letter of the model's choice, empty where the question has none or the model fails."""
    if not question.choices:
        return ""
    records = [each.record for each in evidence]
    choice, events = attempt("answer", lambda: choose_by_model(question, records, notes or "–", model))
    yield from events
    return choice or ""
