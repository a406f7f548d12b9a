"""Request: a question with its choices, number of records, strategy and settings.

:func:`parse_request` parses and validates each request once. The strategies rely on that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from shrag.corpora.text.cleaning import plain_line
from shrag.corpora.text.sentences import detect_language
from shrag.indexing.analysis.request_framing import framing_spans
from shrag.indexing.record_filter import EVERY_RECORD, RecordFilter
from shrag.messages.text import Text, message_of
from shrag.serving.errors import QuestionError
from shrag.serving.events import KeywordOrder
from shrag.serving.search_settings import PRODUCT, SearchSettings

DEFAULT_STRATEGY = "shrag"
DEFAULT_K = 10
LARGEST_K = 1_000

MOST_PAGES = 10
"""Maximum number of pages of a ranking. No page goes beyond rank :data:`LARGEST_K` either."""

LONGEST_QUESTION = 2_000
"""Characters that a question may have."""

LETTERS = "ABCDEFGHIJ"
"""The letters of choices, in order. A question has at most as many choices."""

LONGEST_CHOICE = 500
"""Characters that a choice may have."""

AnswerLanguage = Literal["ko", "en"]

_SHOWING_LETTERS = 5
"""A lower-case word that is the whole question may be an acronym, unless it has at least this many letters."""


@dataclass(frozen=True, slots=True)
class Question:
    """A valid question, the language of its answer, and the ``choices`` of a multiple-choice question.

    Words of earlier questions may have been added at the end of a follow-up question. Then ``asked`` is the number of
    characters of ``text`` before them; else it is None.
    """

    text: str
    language: AnswerLanguage
    choices: tuple[str, ...] = ()
    asked: int | None = None


class Turn(NamedTuple):
    """A question asked before, and its answer, which may be left out."""

    question: str
    answer: str = ""


class Request(NamedTuple):
    """A parsed request for ranked records, and for an answer from the best of them.

    Attributes:
        question: The question.
        k: The maximum number of records.
        answered: Whether an answer is requested.
        every_record: Whether duplicate records of one paper are ranked separately.
        settings: The search settings.
        strategy: The name of a strategy, or the stages of a pipeline.
        min_confidence: The answer is a refusal if the confidence that a record answers is lower. None for the index's
            own threshold.
        record_filter: Only records that pass it are found.
        facets: Whether all hits are counted by year, language, journal, type and author.
        history: The turns before a follow-up question, the oldest first.
        offset: The number of ranks before the first record, for a further page of the same ranking. Such a page has no
            answer.
    """

    question: Question
    k: int = DEFAULT_K
    answered: bool = True
    every_record: bool = False
    settings: SearchSettings = PRODUCT
    strategy: str = DEFAULT_STRATEGY
    min_confidence: float | None = None
    record_filter: RecordFilter = EVERY_RECORD
    facets: bool = False
    history: tuple[Turn, ...] = ()
    offset: int = 0

    @property
    def last_rank(self) -> int:
        """The rank of the last record, if there are enough records."""
        return self.offset + self.k

    @property
    def wants_answer(self) -> bool:
        """Whether to make an answer: a further page of a ranking has none."""
        return self.answered and not self.offset


MOST_TURNS = 50
"""Maximum number of turns before a question that are read."""


def parse_request(
    question: str,
    *,
    answered: bool,
    k: int = DEFAULT_K,
    strategy: str = DEFAULT_STRATEGY,
    every_record: bool = False,
    keyword_order: KeywordOrder | None = None,
    settings: SearchSettings = PRODUCT,
    choices: Sequence[str] = (),
    min_confidence: float | None = None,
    record_filter: RecordFilter = EVERY_RECORD,
    facets: bool = False,
    history: Sequence[Turn] = (),
    offset: int = 0,
) -> Request:
    """Parse a request; ``keyword_order`` overrides that of the settings.

    Raises:
        QuestionError: The question, its choices, ``k``, ``offset`` or ``min_confidence`` are not valid.
    """
    check_min_confidence(min_confidence)
    if not 1 <= k <= LARGEST_K:
        raise QuestionError(
            "k_out_of_range", Text("k must be from 1 to {largest_k}, got {k}.", largest_k=LARGEST_K, k=k)
        )
    _check_offset(offset, k)
    if keyword_order not in {None, settings.keyword_order}:
        settings = replace(settings, keyword_order=keyword_order)
    return Request(
        parse_question(question, choices), k, answered, every_record, settings, strategy, min_confidence,
        record_filter, facets, parse_history(history), offset,
    )  # fmt: skip


def deepest_rank(k: int) -> int:
    """Return the last rank that the pages of ``k`` records reach.

    >>> deepest_rank(10), deepest_rank(500)
    (100, 1000)
    """
    return min(MOST_PAGES * k, LARGEST_K)


def _check_offset(offset: int, k: int) -> None:
    largest = deepest_rank(k) - k
    if not 0 <= offset <= largest:
        raise QuestionError(
            "offset_out_of_range",
            Text(
                "offset must be from 0 to {largest} where k is {k}, got {offset}: for later records raise k, or narrow "
                "the search with a filter.",
                largest=largest,
                k=k,
                offset=offset,
            ),
        )


def parse_filter(limits: Mapping[str, Any]) -> RecordFilter:
    """Parse a filter of records; raises :class:`QuestionError` if it is not valid."""
    try:
        return RecordFilter.from_mapping(limits)
    except ValueError as error:
        raise QuestionError("filter_invalid", message_of(error)) from None


def parse_history(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return the last :data:`MOST_TURNS` turns as single lines of at most :data:`LONGEST_QUESTION` characters.

    Turns without a question are left out.
    """
    lines = [Turn(_turn_line(turn.question), _turn_line(turn.answer)) for turn in turns[-MOST_TURNS:]]
    return tuple(turn for turn in lines if turn.question)


def _turn_line(text: str) -> str:
    return plain_line(text[:LONGEST_QUESTION])


def check_min_confidence(value: float | None) -> None:
    """Raise :class:`QuestionError` unless the least confidence is None or from 0 to 1."""
    if value is not None and not 0 <= value <= 1:
        raise QuestionError(
            "min_confidence_out_of_range", Text("min_confidence must be from 0 to 1, got {value}.", value=value)
        )


def parse_question(raw: str, choices: Sequence[str] = ()) -> Question:
    """Parse a question and its choices.

    Raises:
        QuestionError: The question is empty or too long. Or there is only one choice, there are too many choices, or a
            choice is empty, too long or repeated.
    """
    if len(raw) > LONGEST_QUESTION:
        raise QuestionError(
            "question_too_long",
            Text(
                "The question has {raw_count} characters, at most {longest_question} are read: shorten it.",
                raw_count=len(raw),
                longest_question=LONGEST_QUESTION,
            ),
        )
    text = plain_line(raw)
    if not text:
        raise QuestionError("question_empty", Text("The question is empty: write one."))
    return Question(text, _question_language(text), _parse_choices(choices) if choices else ())


def _question_language(text: str) -> AnswerLanguage:
    """Return ``ko`` for a text in Korean, or if at least a third of its words are Korean; else ``en``."""
    words = text.split()
    korean = sum(detect_language(word) == "ko" for word in words)
    return "ko" if detect_language(text) == "ko" or 3 * korean >= len(words) else "en"


_QUESTION_WORDS = frozenset("are can do does how is what when where which who why".split())


def shows_language(question: str) -> bool:
    """Return whether a word of the question shows its language; acronyms, names and numbers do not.

    In Latin letters, a lower-case word or a question word shows it. A short word that is the whole question (``lte``)
    does not.

    Args:
        question: The question.

    >>> [shows_language(each) for each in ("LTE 뜻", "What is LTE?", "deep learning", "Explain BERT")]
    [True, True, True, True]
    >>> [shows_language(each) for each in ("LTE", "5g", "bert", "Maddox Ferrand", "3.14")]
    [False, False, False, False, False]
    """
    words = question.split()
    letters = [word.strip("?!.,;:()'\"") for word in words]
    return (
        _question_language(question) == "ko"
        or bool(framing_spans(question))
        or any(word.isalpha() and word.islower() and (len(word) >= _SHOWING_LETTERS or words[1:]) for word in letters)
        or any(word.casefold() in _QUESTION_WORDS for word in letters)
    )


def _parse_choices(raw: Sequence[str]) -> tuple[str, ...]:
    choices = tuple(plain_line(text) for text in raw)
    if not 2 <= len(choices) <= len(LETTERS):
        raise _invalid(
            Text(
                "A question has from 2 to {letters_count} choices or none, got {choices_count}.",
                letters_count=len(LETTERS),
                choices_count=len(choices),
            )
        )
    for letter, choice in zip(LETTERS, choices, strict=False):
        if not choice:
            raise _invalid(Text("Choice {letter} is empty: write it, or leave it out.", letter=letter))
        if len(choice) > LONGEST_CHOICE:
            raise _invalid(
                Text(
                    "Choice {letter} has {choice_count} characters, at most {longest_choice} are allowed: shorten it.",
                    letter=letter,
                    choice_count=len(choice),
                    longest_choice=LONGEST_CHOICE,
                )
            )
        first = LETTERS[choices.index(choice)]
        if first != letter:
            raise _invalid(
                Text(
                    "Choice {letter} is the same as choice {letters}: leave one of them out.",
                    letter=letter,
                    letters=first,
                )
            )
    return choices


def _invalid(message: str) -> QuestionError:
    return QuestionError("choices_invalid", message)
