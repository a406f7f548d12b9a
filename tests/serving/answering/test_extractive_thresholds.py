"""Thresholds of extractive answers: each just reached and just missed, over records of made-up words."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from shrag.corpora.records import Language, Record
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.translation.query_translation import Translation
from shrag.serving.answering.extractive import answers_by_words, extract_answer
from shrag.serving.events import Answer
from shrag.serving.request import Question
from shrag.serving.retrieval.query_terms import QueryTerm

WORDS = [f"term{first}{second}" for first in "abcde" for second in "vwxyz"]
COMMON = [f"shared{letter}" for letter in "abcdefghijkl"]
QUESTION = Question("Which terms?", "en")


def _words(count: int, *translations: Translation) -> list[QueryTerm]:
    """Return the first words as those of a question, all of one idf."""
    return [QueryTerm(word, (word,), 1.0, 1, keyword=True, known=True, translations=translations) for word in WORDS][
        :count
    ]


def _record(title: str, sentence: str, language: Language = "en") -> AnalyzedRecord:
    record = Record(title, title, sentence, language, complete=True)
    return AnalyzedRecord(record, title.lower(), (sentence.lower().rstrip("."),))


def _seen(title: str, words: Sequence[str]) -> AnalyzedRecord:
    """Return a record of these words and twelve of its own, without a finding."""
    own = [f"{title.lower()}{letter}" for letter in "abcdefghijkl"]
    return _record(title, f"We saw {' '.join([*words, *own])}.")


def _found(title: str, words: Sequence[str]) -> AnalyzedRecord:
    """Return a record whose sentence is a finding about these words."""
    return _record(title, f"The results show that {' '.join(words)} rose by 20%.")


def _sections(answer: Answer) -> list[tuple[str, str, bool]]:
    """Return the part, the title and whether there is a sentence, of each section."""
    return [(each.part, each.source.title, bool(each.sentences)) for each in answer.sections if each.source]


@pytest.mark.parametrize(
    ("language", "translated", "held", "asked", "answers"),
    [
        ("en", False, 3, 10, True),
        ("en", False, 3, 11, False),
        ("ko", True, 2, 8, True),
        ("ko", True, 2, 9, False),
        ("ko", False, 1, 12, True),
        ("ko", False, 1, 13, False),
    ],
)
def test_a_record_answers_from_a_share_of_the_question_that_depends_on_the_languages(
    language: Language, translated: bool, held: int, asked: int, answers: bool
) -> None:
    words = _words(asked, *[Translation("other", ("other",), 1.0)][: int(translated)])
    record = _record("Title", f"We saw {' '.join(WORDS[:held])}.", language)
    assert answers_by_words(QUESTION, words, record) is answers


@pytest.mark.parametrize(("held", "asked", "related"), [(3, 10, True), (3, 11, False)])
def test_a_finding_is_quoted_of_a_record_with_three_tenths_of_the_question(
    held: int, asked: int, related: bool
) -> None:
    evidence = [_seen("Lead", [*WORDS[:asked], *COMMON]), _found("Other", [*WORDS[:held], *COMMON])]
    sections = _sections(extract_answer(QUESTION, _words(asked), evidence))
    assert sections == [("record", "Lead", True), ("related", "Other", True)][: 1 + related]


@pytest.mark.parametrize(
    ("asked", "both", "new", "named"),
    [(20, 8, 1, True), (21, 8, 1, False), (20, 7, 1, True), (20, 6, 1, False)],
)
def test_a_record_is_shown_that_has_a_twentieth_more_and_three_quarters_as_much_as_the_leading_one(
    asked: int, both: int, new: int, named: bool
) -> None:
    evidence = [_seen("Lead", WORDS[:10]), _seen("Other", [*WORDS[:both], *WORDS[10 : 10 + new]])]
    sections = _sections(extract_answer(QUESTION, _words(asked), evidence))
    assert sections == [("record", "Lead", True), ("related", "Other", True)][: 1 + named]


@pytest.mark.parametrize(("asked", "new", "quoted"), [(20, 3, True), (16, 2, False)])
def test_of_several_searches_a_record_is_quoted_that_adds_fifteen_hundredths(
    asked: int, new: int, quoted: bool
) -> None:
    evidence = [_seen("Lead", WORDS[:10]), _seen("Other", WORDS[10 : 10 + new])]
    sections = _sections(extract_answer(QUESTION, _words(asked), evidence, merged=True))
    assert sections == [("record", "Lead", True), ("record", "Other", True)][: 1 + quoted]


@pytest.mark.parametrize(("common", "shown"), [(5, True), (6, False)])
def test_records_with_more_than_six_tenths_of_their_terms_in_common_are_one_paper(common: int, shown: bool) -> None:
    # 12 of 20 terms, and 13 of 21.
    evidence = [_found("Lead", [*WORDS[:common], "one", "two", "three"])]
    evidence.append(_found("Other", [*WORDS[:common], "four", "five", "six"]))
    sections = _sections(extract_answer(QUESTION, _words(common), evidence))
    assert sections == [("record", "Lead", True), ("related", "Other", True)][: 1 + shown]


@pytest.mark.parametrize(("held", "title"), [((9, 10), "A"), ((9, 0, 12), "C")], ids=["a rank", "two ranks"])
def test_a_rank_counts_as_much_as_a_twentieth_of_the_question(held: Sequence[int], title: str) -> None:
    evidence = [_seen("Lead", WORDS[:10])]
    evidence += [
        _seen(name, [*WORDS[: count - 2], *WORDS[10:12]] if count else [])
        for name, count in zip("ABC", held, strict=False)
    ]
    sections = _sections(extract_answer(QUESTION, _words(25), evidence))
    assert sections == [("record", "Lead", True), ("related", title, True)]
