"""Write the answer from a ranking.

A language model writes the answer if there is one and it does not fail. Otherwise the answer is extractive.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from shrag.corpora.records import Record
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.models.errors import ModelError
from shrag.models.language_model import LanguageModel
from shrag.serving.answering.answered_questions import AnsweredQuestion, answered_text, choose_evidence
from shrag.serving.answering.citations import number_in_order, verify_quotes
from shrag.serving.answering.extractive import CONSIDERED, EVIDENCE, answers_by_words, extract_answer
from shrag.serving.answering.generative import generate_answer, generate_closed_book
from shrag.serving.answering.multiple_choice import choose_by_model, choose_by_words
from shrag.serving.answering.refusal import is_refused, refuse
from shrag.serving.answering.spelling import suggest_spelling
from shrag.serving.events import Answer, AnswerSentence, Event, Timings
from shrag.serving.llm.request_model import attempt, fallback_events
from shrag.serving.request import Question, Request
from shrag.serving.retrieval.ranking import RetrievalResult
from shrag.serving.strategy import Resources


@dataclass(slots=True)
class StageTimer:
    """Adds up the seconds of named stages; ``seconds`` is in the order in which the stages first ended."""

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
    request: Request,
    found: RetrievalResult,
    resources: Resources,
    timer: StageTimer,
    notes: str = "",
    answered: Sequence[AnsweredQuestion] = (),
) -> Iterator[Event]:
    """Yield the answer's events, if one is wanted, and the timings, which end every stream.

    ``timer`` has the time of the stages so far. ``notes`` and ``answered`` are for the model that writes the answer:
    what the strategy worked out, and the sub-questions that it answered.
    """
    if request.wants_answer:
        events = _answer(request, found, resources, notes, answered)
        yield from _timed(timer, _with_suggestion(request, resources, events))
    yield Timings(timer.seconds)


def answer_closed_book(request: Request, resources: Resources, timer: StageTimer, notes: str = "") -> Iterator[Event]:
    """Yield the events of an answer that a model writes without records, if one is wanted, and the timings.

    Without a model, or if it fails, the answer is a refusal.
    """
    if request.wants_answer:
        yield from _timed(timer, _answer_closed_book(request.question, resources.model, notes))
    yield Timings(timer.seconds)


def _timed(timer: StageTimer, events: Generator[Event, None, None]) -> Iterator[Event]:
    """Yield the events and time how long each takes to produce; the caller's own time between two does not count."""
    with closing(events):
        while True:
            with timer.stage("answer"):
                event = next(events, None)
            if event is None:
                return
            yield event


def _with_suggestion(request: Request, resources: Resources, events: Iterator[Event]) -> Generator[Event, None, None]:
    """Yield the events, with a spelling suggestion in an extractive answer that is a refusal or uncertain."""
    for event in events:
        if isinstance(event, Answer) and event.kind == "extractive" and (event.reason or event.uncertain):
            yield replace(event, suggestion=suggest_spelling(request.question, resources.index))
        else:
            yield event


def _answer(
    request: Request, found: RetrievalResult, resources: Resources, notes: str, answered: Sequence[AnsweredQuestion]
) -> Generator[Event, None, None]:
    """Answer from the best complete records, or refuse if they do not answer the question.

    A language model reads the records and decides for itself, unless the request sets a least confidence.
    """
    question, ranking, model = request.question, found.ranking, resources.model
    analyzed = {each.record.docid: each for each in found.candidates}
    ranked = [analyzed[each.record.docid] for each in ranking.records if each.record.complete]
    evidence = ranked[:CONSIDERED]
    if ranking.reason or not evidence:
        yield refuse(question, ranking, ranking.reason or "nothing_found")
        return
    if is_refused(request, ranking, by_index=model is None):
        yield refuse(question, ranking, "nothing_fits")
        return
    choice = ""
    if model is not None:
        shown = choose_evidence(ranked, answered)
        notes = notes or answered_text(answered, shown, question.language)
        choice = yield from _choose(question, [each.record for each in shown], notes, model)
        try:
            yield from generate_answer(
                question, shown, resources.index, model, ranking, notes, choice, request.settings
            )
        except ModelError as error:
            yield from fallback_events("answer", error)
        else:
            return
    extracted = _extract(request, found, evidence)
    if question.choices:
        if not choice and not extracted.reason:
            choice = choose_by_words(question, evidence[:EVIDENCE], resources.index)
        extracted = replace(extracted, choice=choice)
    for section in extracted.sections:
        for sentence in section.sentences:
            yield AnswerSentence(section.part, sentence, section.source)
    yield extracted


def _extract(request: Request, found: RetrievalResult, evidence: Sequence[AnalyzedRecord]) -> Answer:
    question, ranking = request.question, found.ranking
    answers = ranking.confidence is not None or answers_by_words(question, found.terms, evidence[0])
    if is_refused(request, ranking) or not answers:
        return refuse(question, ranking, "nothing_fits")
    confidence = ranking.confidence
    level = confidence.level if confidence else None
    scored = {each.record.docid: each.score for each in ranking.records}
    scores = [] if found.merged else [scored[each.record.docid] for each in evidence]
    extracted = extract_answer(
        question, found.terms, evidence, merged=found.merged, confidence=level, scores=scores, listing=found.listing
    )
    extracted = number_in_order(verify_quotes(extracted, [each.record for each in evidence]))
    # An incomplete first record cannot be quoted, but may be the one that answers.
    uncertain = confidence is not None and (level == "low" or not ranking.records[0].record.complete)
    lacking = confidence.lacking if confidence and extracted.listing in {"", "comparison"} else ()
    return replace(extracted, uncovered=lacking, uncertain=uncertain)


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
    """Return the letter that the model chooses; empty if the question has no choices or the model fails."""
    if not question.choices:
        return ""
    choice, events = attempt("answer", model, partial(choose_by_model, question, records, notes or "–"))
    yield from events
    return choice or ""
