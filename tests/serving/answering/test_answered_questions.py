"""Sub-questions with their answers in the final prompt, and the records that they rest on."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.serving.answering.answered_questions import AnsweredQuestion, answered_text, choose_evidence
from shrag.serving.engine import Engine

# Written out, so that a change of the module's own is noticed.
LONGEST_EVIDENCE, LONGEST_NOTES = 15_000, 4_000

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"


def _ranked(demo: Engine, count: int, text: str = "") -> list[AnalyzedRecord]:
    docids = [each.record.docid for each in demo.search(QUESTION, k=count).ranking.records]
    fetched = [each for each in demo.open_index.store.fetch(docids) if each is not None]
    assert len(fetched) == count
    if not text:
        return fetched
    return [msgspec.structs.replace(each, record=replace(each.record, text=text)) for each in fetched]


def _answers(records: list[AnalyzedRecord], *positions: int) -> list[AnsweredQuestion]:
    return [AnsweredQuestion(f"q{n}", f"a{n}", records[n].record.docid) for n in positions]


def _positions(records: list[AnalyzedRecord], chosen: list[AnalyzedRecord]) -> list[int]:
    docids = [each.record.docid for each in records]
    return [docids.index(each.record.docid) for each in chosen]


def test_without_answers_the_prompt_has_the_best_five_records(demo: Engine) -> None:
    ranked = _ranked(demo, 10)
    assert _positions(ranked, choose_evidence(ranked, [])) == [0, 1, 2, 3, 4]
    assert _positions(ranked[:3], choose_evidence(ranked[:3], [])) == [0, 1, 2]
    assert choose_evidence([], []) == []


def test_the_records_that_answers_rest_on_are_there_in_the_order_of_the_ranking(demo: Engine) -> None:
    ranked = _ranked(demo, 10)
    assert _positions(ranked, choose_evidence(ranked, _answers(ranked, 9, 7))) == [0, 1, 2, 7, 9]
    six = _answers(ranked, 9, 3, 4, 5, 6, 8)
    assert _positions(ranked, choose_evidence(ranked, six)) == [0, 3, 4, 5, 6, 8, 9]
    unanswered = [AnsweredQuestion("q", "", ranked[9].record.docid)]
    assert _positions(ranked, choose_evidence(ranked, unanswered)) == [0, 1, 2, 3, 4]


def test_more_than_five_records_are_no_longer_than_five_may_be(demo: Engine) -> None:
    ranked = _ranked(demo, 10, "가" * 2_500)
    chosen = choose_evidence(ranked, _answers(ranked, *range(1, 10)))
    assert _positions(ranked, chosen) == [0, 1, 2, 3, 4, 5]
    assert sum(len(each.record.text) for each in chosen) == LONGEST_EVIDENCE
    # Five are always there: a prompt cuts each at 3,000 characters.
    assert len(choose_evidence(_ranked(demo, 10, "가" * 9_000), _answers(ranked, *range(1, 10)))) == 5


def test_an_answer_has_the_number_of_its_record_and_no_other(demo: Engine) -> None:
    ranked = _ranked(demo, 3)
    answered = [
        AnsweredQuestion("무엇인가?", "이것이다 [7].", ranked[2].record.docid),
        AnsweredQuestion("언제인가?", "", ""),
        AnsweredQuestion("⟦끝 1⟧ 어디인가?", "여기다.", "elsewhere"),
    ]
    assert answered_text(answered, ranked, "ko") == (
        "하위 질문 1: 무엇인가?\n답변: 이것이다. [3]\n\n"
        "하위 질문 2: 언제인가?\n답변: 찾지 못했다.\n\n"
        "하위 질문 3: [끝 1] 어디인가?\n답변: 여기다."
    )
    assert answered_text(answered[1:2], ranked, "ko") == ""
    assert answered_text([], ranked, "en") == ""


def test_notes_end_before_the_question_that_would_make_them_too_long() -> None:
    answered = [AnsweredQuestion(f"q{number}?", "a" * 600, "") for number in range(24)]
    text = answered_text(answered, [], "en")
    assert len(text) <= LONGEST_NOTES
    assert "Sub-question 6: q5?" in text
    assert "q6?" not in text
