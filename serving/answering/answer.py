"""Answer from a ranking: generate, else extract; emit events."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from shrag.indexing.analyzed_record import AnalysedRecord
from shrag.models.errors import ModelError
from shrag.models.language_model import LanguageModel
from shrag.serving.answering.citations import check_quotes
from shrag.serving.answering.extractive import EVIDENCE, extract_answer
from shrag.serving.answering.generative import Work, generate_answer, recall_answer
from shrag.serving.answering.multiple_choice import choose_by_model, choose_by_words
from shrag.serving.events import Answer, AnswerSentence, Event, Ranking, Timings
from shrag.serving.llm.request_model import attempt, fallen_back
from shrag.serving.question import Question
from shrag.serving.retrieval.query_terms import Word
from shrag.serving.strategy import Request, Resources
from shrag.serving.timing import Stopwatch


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
