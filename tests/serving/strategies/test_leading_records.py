"""Tests of the records that are put in front: definitions, and overviews of a broad subject."""

from __future__ import annotations

import pytest

from shrag.serving.answering.formats import answer_text
from shrag.serving.engine import Engine


def test_records_about_a_broad_subject_come_first_and_the_answer_lists_them(demo: Engine) -> None:
    result = demo.ask("도서관")
    answer, ranking = result.answer, result.search.ranking
    assert answer is not None
    shown = [section.source.docid for section in answer.sections if section.source]
    assert answer.broad
    assert len(shown) == 4
    assert shown == [each.record.docid for each in ranking.records[:4]]
    assert all("도서관" in each.record.title or "Librar" in each.record.title for each in ranking.records[:4])
    assert [section.part for section in answer.sections] == ["record", *["related"] * 3]
    assert all(len(section.sentences) == 1 for section in answer.sections[1:])
    assert answer_text(answer).startswith("질문의 주제가 넓어")
    assert ranking.confidence is not None
    assert (ranking.confidence.value, ranking.confidence.level) == (0.2, "medium")
    scores = [each.score for each in ranking.records]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    "question", ["도서관 검색의 무결과 질의는 어떻게 개선하였나?", "강화학습", "도서관은 어디에 있나?"]
)
def test_other_questions_and_subjects_of_few_records_get_no_overview(demo: Engine, question: str) -> None:
    answer = demo.ask(question).answer
    assert answer is not None
    assert not answer.broad


def test_the_overview_begins_alike_however_many_records_are_wanted(demo: Engine) -> None:
    docids = [each.record.docid for each in demo.search("도서관", k=10).ranking.records]
    for k in (1, 2, 5):
        assert [each.record.docid for each in demo.search("도서관", k=k).ranking.records] == docids[:k]


def test_further_pages_have_no_record_of_the_overview_again(demo: Engine) -> None:
    first, second = demo.search("도서관", k=5).ranking, demo.search("도서관", k=5, offset=5).ranking
    assert not {each.record.docid for each in first.records} & {each.record.docid for each in second.records}
    assert first.confidence == second.confidence


def test_records_that_compare_two_subjects_come_first_and_the_comparison_is_quoted(demo: Engine) -> None:
    result = demo.ask("LSTM과 ARIMA 비교")
    answer, confidence = result.answer, result.search.ranking.confidence
    assert answer is not None
    assert confidence is not None
    assert (answer.citations[0].docid, answer.broad, answer.uncertain) == ("DEMO-AGR-002", False, True)
    assert any("LSTM" in each.text and "ARIMA" in each.text for each in answer.sections[0].sentences)
    assert 0.1 <= confidence.value < 0.2
