"""Request: a question with its choices, number of records, strategy and settings, parsed and validated once."""

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
"""Pages of a ranking at most; they end at rank :data:`LARGEST_K` too."""

LONGEST_QUESTION = 2_000
"""Characters a question may have."""

LETTERS = "ABCDEFGHIJ"
"""The letters of choices, in order; there are at most as many choices."""

LONGEST_CHOICE = 500
"""Characters a choice may have."""

AnswerLanguage = Literal["ko", "en"]

_SHOWING_LETTERS = 5
"""Letters from which a small-lettered word alone is no acronym."""


@dataclass(frozen=True, slots=True)
class Question:
    """A valid question, the language of its answer, and the ``choices`` of a multiple-choice question.

    ``asked`` is how many characters of ``text``, from its beginning, are a follow-up question's own, where words of
    earlier questions were added to it; else None.
    """

    text: str
    language: AnswerLanguage
    choices: tuple[str, ...] = ()
    asked: int | None = None


class Turn(NamedTuple):
    """A question asked before, and the answer to it, which may be left out."""

    question: str
    answer: str = ""


class Request(NamedTuple):
    """A parsed request for at most ``k`` ranked records, and an answer from the best of them if ``answered``.

    Duplicate records of one paper are ranked as one unless ``every_record``. ``strategy`` is the name of a strategy or
    the stages of a pipeline. Where the confidence that a record answers is below ``min_confidence`` (None: the index's
    own threshold), the answer is a refusal. Only records that pass ``record_filter`` are found; with ``facets`` all
    hits are counted by year, language, journal, type and author. ``history`` are the turns before a follow-up question,
    the oldest first. ``offset`` is the number of ranks before the first record: a further page of the ranking, which
    is ranked as the first one and has no answer.
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
        """The rank of the last record, where there are so many."""
        return self.offset + self.k

    @property
    def wants_answer(self) -> bool:
        """Whether an answer is to be made."""
        return self.answered and not self.offset


MOST_TURNS = 50
"""Turns before a question that are read."""


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
    """Parse a request; ``keyword_order`` overrides the settings. Turns without a question are left out.

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
    """Return the last rank that pages of ``k`` records reach.

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
    """Parse a filter of records; raises :class:`QuestionError` where it is not valid."""
    try:
        return RecordFilter.from_mapping(limits)
    except ValueError as error:
        raise QuestionError("filter_invalid", message_of(error)) from None


def parse_history(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return the last :data:`MOST_TURNS` turns as single lines, cut at :data:`LONGEST_QUESTION` characters."""
    lines = [Turn(_turn_line(turn.question), _turn_line(turn.answer)) for turn in turns[-MOST_TURNS:]]
    return tuple(turn for turn in lines if turn.question)


def _turn_line(text: str) -> str:
    return plain_line(text[:LONGEST_QUESTION])


def check_min_confidence(value: float | None) -> None:
    """Raise :class:`QuestionError` where a least confidence is given that is not from 0 to 1."""
    if value is not None and not 0 <= value <= 1:
        raise QuestionError(
            "min_confidence_out_of_range", Text("min_confidence must be from 0 to 1, got {value}.", value=value)
        )


def parse_question(raw: str, choices: Sequence[str] = ()) -> Question:
    """Parse a question and its choices.

    Raises:
        QuestionError: The question is empty or too long; or there is one choice alone, there are too many, or one is
            empty, too long or repeated.
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
    """Return ``ko`` for a text in Korean, and for a few keywords of which a third or more are Korean."""
    words = text.split()
    korean = sum(detect_language(word) == "ko" for word in words)
    return "ko" if detect_language(text) == "ko" or 3 * korean >= len(words) else "en"


_QUESTION_WORDS = frozenset("are can do does how is what when where which who why".split())


def shows_language(question: str) -> bool:
    """Return whether a word of the question shows its language, as no acronym, name or number does.

    In Latin letters a word in small letters or a question word does, but no short word alone (``lte``).

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
                    "Choice {letter} has {choice_count} characters, at most {longest_choice} are: shorten it.",
                    letter=letter,
                    choice_count=len(choice),
                    longest_choice=LONGEST_CHOICE,
                )
            )
        if choices.index(choice) != LETTERS.index(letter):
            raise _invalid(
                Text(
                    "Choice {letter} is choice {letters} again: leave one of them out.",
                    letter=letter,
                    letters=LETTERS[choices.index(choice)],
                )
            )
    return choices


def _invalid(message: str) -> QuestionError:
    return QuestionError("choices_invalid", message)
