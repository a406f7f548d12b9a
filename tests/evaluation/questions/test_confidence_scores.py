from __future__ import annotations

import msgspec
import pytest

from shrag.corpora.records import Qrel
from shrag.evaluation.questions.confidence_scores import (
    ConfidenceCase,
    ConfidenceScores,
    CoverageScores,
    Estimate,
    answering_records,
    confidence_cases,
    score_confidence,
)
from shrag.evaluation.questions.outcome import AnswerRecord, QuestionOutcome


def _outcome(qid: str, confidence: float | None, *top: str) -> QuestionOutcome:
    threshold = None if confidence is None else 0.3
    return QuestionOutcome(qid, num_retrieved=len(top), top_docids=top, confidence=confidence, threshold=threshold)


def _answer(*cited: str, reason: str = "") -> AnswerRecord:
    return AnswerRecord("t", "t", "en", "extractive", "", None, None, reason, cited)


ANSWERING = {"a": {"1"}, "b": {"2"}, "c": {"3"}}
UNANSWERABLE = {"x": "near", "y": "far", "z": ""}
OUTCOMES = [
    _outcome("a", 0.9, "1", "9"),
    _outcome("b", 0.5, "9", "2"),
    _outcome("c", 0.2, "3"),
    _outcome("x", 0.6, "8"),
    _outcome("y", 0.1, "8"),
    _outcome("z", 0.2, "8"),
]


def test_records_answer_from_a_grade_on_and_every_judged_question_counts() -> None:
    qrels = [Qrel("a", "1", 2), Qrel("a", "2", 1), Qrel("b", "3", 1)]
    assert answering_records(qrels, 2) == {"a": {"1"}, "b": set()}
    assert answering_records(qrels) == {"a": {"1", "2"}, "b": {"3"}}


def test_a_case_has_its_kind_and_whether_the_first_record_answers() -> None:
    cases = confidence_cases([*OUTCOMES, _outcome("unknown", 1.0, "1")], ANSWERING, UNANSWERABLE)
    assert cases == [
        ("answerable", 0.9, False, True, None),
        ("answerable", 0.5, False, False, None),
        ("answerable", 0.2, True, True, None),
        ("near", 0.6, False, False, None),
        ("far", 0.1, True, False, None),
        ("unanswerable", 0.2, True, False, None),
    ]


def test_the_scores_of_six_questions_are_those_computed_by_hand() -> None:
    scores = score_confidence(confidence_cases(OUTCOMES, ANSWERING, UNANSWERABLE))
    kinds = {each.kind: each for each in scores.kinds}
    assert list(kinds) == ["answerable", "far", "near", "unanswerable"]
    assert [each.questions for each in scores.kinds] == [3, 1, 1, 3]
    assert [each.refused.value for each in scores.kinds] == [pytest.approx(1 / 3), 1.0, 0.0, pytest.approx(2 / 3)]
    assert kinds["answerable"].auc is None
    # 0.9, 0.5 and 0.2 against 0.1; against 0.6; against 0.6, 0.1 and 0.2, one tie.
    aucs = [kinds[kind].auc for kind in ("far", "near", "unanswerable")]
    assert [each and each.value for each in aucs] == [1.0, pytest.approx(1 / 3), pytest.approx((3 + 2 + 1.5) / 9)]
    assert scores.served == CoverageScores(0.5, 0.5, 3, 2 / 3, None)
    # In the order of the confidence: right, wrong, wrong, then right and wrong tied, wrong.
    assert [(each.coverage, each.answered, each.risk) for each in scores.curve] == [
        (pytest.approx(1 / 6), 1, 0.0),
        (pytest.approx(2 / 6), 2, 0.5),
        (pytest.approx(3 / 6), 3, pytest.approx(2 / 3)),
        (pytest.approx(5 / 6), 5, pytest.approx(3 / 5)),
        (1.0, 6, pytest.approx(4 / 6)),
    ]
    assert scores.aurc == pytest.approx((0 + 1 / 2 + 2 / 3 + 2.5 / 4 + 3 / 5 + 4 / 6) / 6)


def test_all_unanswerable_questions_come_last_whatever_the_names_of_their_kinds() -> None:
    scores = score_confidence(confidence_cases(OUTCOMES, ANSWERING, {"x": "web", "y": "far", "z": ""}))
    assert [(each.kind, each.questions) for each in scores.kinds] == [
        ("answerable", 3),
        ("far", 1),
        ("web", 1),
        ("unanswerable", 3),
    ]


def test_the_risk_of_what_is_cited_is_known_where_all_are_answered() -> None:
    answers = {"a": _answer("9", "1"), "b": _answer("9", "2"), "c": _answer(reason="nothing_fits"), "x": _answer("8")}
    answered = [msgspec.structs.replace(each, answer=answers.get(each.qid)) for each in OUTCOMES]
    scores = score_confidence(confidence_cases(answered, ANSWERING, UNANSWERABLE))
    # a and b cite a record that answers, x is answered although nothing does; c is refused.
    assert scores.served is not None
    assert scores.served.cited_risk == pytest.approx(1 / 3)
    assert [each.cited_risk for each in scores.curve] == [0.0, 0.5, pytest.approx(1 / 3), None, None]


def test_a_strategy_without_confidence_has_refusals_only() -> None:
    outcomes = [_outcome("a", None, "1"), _outcome("b", None), _outcome("x", None, "8")]
    scores = score_confidence(confidence_cases(outcomes, ANSWERING, UNANSWERABLE))
    assert [(each.kind, each.refused.value, each.auc) for each in scores.kinds] == [
        ("answerable", 0.5, None),
        ("near", 0.0, None),
    ]
    assert scores.served == CoverageScores(2 / 3, None, 2, 0.5, None)
    assert (scores.curve, scores.aurc) == ((), None)


def test_what_finds_nothing_has_no_confidence_at_all_and_an_error_is_no_refusal() -> None:
    outcomes = [_outcome("a", 0.9, "1"), _outcome("b", None), QuestionOutcome("x", error="too long")]
    assert confidence_cases(outcomes, ANSWERING, UNANSWERABLE)[1:] == [
        ("answerable", 0.0, True, False, None),
        ("near", 0.0, False, False, None),
    ]


def test_without_unanswerable_or_without_answerable_questions_there_is_no_auc() -> None:
    answerable = score_confidence(confidence_cases(OUTCOMES, ANSWERING, {}))
    assert [(each.kind, each.auc) for each in answerable.kinds] == [("answerable", None)]
    assert answerable.aurc == pytest.approx((0 + 1 / 2 + 1 / 3) / 3)
    others = score_confidence(confidence_cases(OUTCOMES, {}, UNANSWERABLE))
    assert [(each.kind, each.auc) for each in others.kinds] == [
        ("far", None),
        ("near", None),
        ("unanswerable", None),
    ]
    assert others.aurc == 1.0
    assert score_confidence([]) == ConfidenceScores(())


def test_all_refused_leaves_nothing_served() -> None:
    scores = score_confidence([ConfidenceCase("answerable", 0.1, True, True, None)] * 3)
    assert scores.served is None
    refused = scores.kinds[0].refused
    assert (refused.value, refused.high) == (1.0, 1.0)
    assert refused.low == pytest.approx(0.4385, abs=1e-4)


def test_an_auc_of_too_few_questions_has_the_widest_interval() -> None:
    scores = score_confidence(confidence_cases(OUTCOMES, ANSWERING, {"y": "far"}))
    # A sample of three answerable questions and one other lacks the other one in a third of the samples.
    assert scores.kinds[1].auc == Estimate(1.0, 0.0, 1.0)
