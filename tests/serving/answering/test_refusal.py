"""Refusals: what they name of the records and the question. What refuses is in test_answer.py."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shrag.serving.answering.refusal import doubtful_words, refuse
from shrag.serving.engine import Engine
from shrag.serving.events import Confidence, Ranking
from shrag.serving.request import parse_request

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"


@pytest.mark.parametrize(("found", "named"), [(0, 0), (1, 1), (2, 2), (5, 5), (6, 5), (10, 5)])
def test_at_most_five_nearest_records_are_named_and_words_only_where_there_is_one(
    demo: Engine, found: int, named: int
) -> None:
    ranking = demo.search(QUESTION, k=10).ranking
    confidence = Confidence(0.01, "low", ("갈등", "가정"), threshold=0.037)
    records = ranking.records[:found]
    assert len(records) == found
    question = parse_request(QUESTION, answered=True).question
    refusal = refuse(question, replace(ranking, records=records, confidence=confidence), "nothing_fits")
    assert [each.docid for each in refusal.nearest] == [each.record.docid for each in records[:named]]
    assert refusal.uncovered == (("갈등", "가정") if found else ())
    assert (refusal.kind, refusal.language, refusal.reason) == ("extractive", "ko", "nothing_fits")
    assert (refusal.sections, refusal.citations) == ((), ())
    assert refuse(question, replace(ranking, confidence=None), "nothing_found").uncovered == ()


@pytest.mark.parametrize(
    ("value", "uncovered", "named"), [(0.0015, ("갈등",), 5), (0.0014, ("갈등",), 0), (0.0, (), 5)]
)
def test_nearest_records_that_lack_a_subject_word_are_not_named_where_the_confidence_is_next_to_nothing(
    demo: Engine, value: float, uncovered: tuple[str, ...], named: int
) -> None:
    confidence = Confidence(value, "low", uncovered, threshold=0.037)
    ranking = replace(demo.search(QUESTION, k=10).ranking, confidence=confidence)
    refusal = refuse(parse_request(QUESTION, answered=True).question, ranking, "nothing_fits")
    assert (len(refusal.nearest), refusal.uncovered) == (named, uncovered)


def test_an_answer_names_the_words_that_its_records_lack_only_where_the_confidence_is_low() -> None:
    ranking = Ranking((), "words", reranker_is_model=False)
    assert doubtful_words(ranking) == ()
    for value, level, named in ((0.1, "low", ("갈등",)), (0.3, "medium", ()), (0.9, "high", ())):
        confidence = Confidence(value, level, ("갈등",), threshold=0.05)  # type: ignore[arg-type]
        assert doubtful_words(replace(ranking, confidence=confidence)) == named
